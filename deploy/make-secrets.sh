#!/bin/sh
# Creates everything a cluster needs to listen beyond loopback: a private certificate authority, one server
# certificate for all nodes, a client certificate for mutual TLS, the bearer token, the RESP password and the
# mesh secret.
#
#   make-secrets.sh DIR NAME...     NAME is a host name or an address that clients and peers use
#
# Existing files are kept, so a second run changes nothing. To renew the certificate (it is valid for
# 825 days), delete server.pem (or client.pem) and run the script again with the same names. Keep ca.key somewhere else:
# no node needs it.
set -eu

if [ $# -lt 2 ]; then
  echo "usage: $0 DIR NAME... (host names or addresses for the server certificate)" >&2
  exit 2
fi
directory=$1
shift

umask 077
mkdir -p "$directory"
cd "$directory"

if [ ! -e ca.pem ]; then
  openssl req -x509 -newkey ec -pkeyopt ec_paramgen_curve:prime256v1 -noenc -days 3650 \
    -subj "/CN=Syncline private CA" -addext "keyUsage=critical,keyCertSign,cRLSign" \
    -keyout ca.key -out ca.pem 2>/dev/null
  chmod 644 ca.pem # it is public: clients under other users get a copy
fi

if [ ! -e server.pem ]; then
  names=""
  for name in "$@" localhost 127.0.0.1; do
    case $name in
      *[!0-9.]*) kind=DNS ;;
      *) kind=IP ;;
    esac
    case $name in
      *:*) kind=IP ;;
    esac
    case ",$names," in
      *",$kind:$name,"*) ;;
      *) names="${names:+$names,}$kind:$name" ;;
    esac
  done
  extensions=$(mktemp)
  trap 'rm -f "$extensions" server.csr' EXIT
  {
    echo "subjectAltName=$names"
    echo "extendedKeyUsage=serverAuth,clientAuth"
  } > "$extensions"
  openssl req -newkey ec -pkeyopt ec_paramgen_curve:prime256v1 -noenc -subj "/CN=syncline" \
    -keyout server.key -out server.csr 2>/dev/null
  openssl x509 -req -in server.csr -CA ca.pem -CAkey ca.key -CAcreateserial -days 825 \
    -extfile "$extensions" -out server.pem 2>/dev/null
fi

if [ ! -e client.pem ]; then
  openssl req -newkey ec -pkeyopt ec_paramgen_curve:prime256v1 -noenc -subj "/CN=syncline-client" \
    -keyout client.key -out client.csr 2>/dev/null
  usage=$(mktemp)
  echo "extendedKeyUsage=clientAuth" > "$usage"
  openssl x509 -req -in client.csr -CA ca.pem -CAkey ca.key -CAcreateserial -days 825 \
    -extfile "$usage" -out client.pem 2>/dev/null
  rm -f "$usage" client.csr
fi

for secret in token resp-password mesh-secret; do
  [ -e "$secret" ] || openssl rand -hex 32 > "$secret"
done

echo "Wrote ca.pem, ca.key, server.pem, server.key, client.pem, client.key, token, resp-password and mesh-secret to $PWD" >&2
