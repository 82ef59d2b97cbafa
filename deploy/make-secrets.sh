#!/bin/sh
# Creates everything that a cluster needs on a network: a private certificate authority, one server
# certificate for all nodes, a client certificate for mutual TLS, the bearer token, the RESP password and the
# mesh secret.
#
#   make-secrets.sh DIR NAME...     NAME is a host name or an address that clients and peers use
#
# Existing files are kept, and the last lines say which ones. If server.pem is kept, it must cover every NAME. To
# renew a certificate (it is valid for 825 days) or to add names, delete server.pem and server.key (or client.pem and
# client.key) and run the script again. Keep ca.key somewhere else: no node needs it.
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
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT
created=""
kept=""

# kind_of NAME: how a certificate lists it
kind_of() {
  case $1 in
    *:*) echo IP ;;
    *[!0-9.]*) echo DNS ;;
    *) echo IP ;;
  esac
}

# is_covered NAME: whether server.pem is valid for it
is_covered() {
  if [ "$(kind_of "$1")" = IP ]; then check=-checkip; else check=-checkhost; fi
  openssl x509 -in server.pem -noout "$check" "$1" | grep -q 'does match'
}

# append LIST ITEM: joined with a comma
append() { echo "${1:+$1, }$2"; }

# sign PAIR SUBJECT: creates PAIR.key and PAIR.pem with the extensions in $work/extensions
sign() {
  if [ ! -e ca.key ]; then
    echo "ca.key is missing, so $1.pem cannot be signed. Put it next to ca.pem and run this again." >&2
    exit 1
  fi
  openssl req -newkey ec -pkeyopt ec_paramgen_curve:prime256v1 -noenc -subj "/CN=$2" \
    -keyout "$1.key" -out "$work/request" 2>/dev/null
  openssl x509 -req -in "$work/request" -CA ca.pem -CAkey ca.key -CAcreateserial -days 825 \
    -extfile "$work/extensions" -out "$1.pem" 2>/dev/null
  created=$(append "$created" "$1.pem, $1.key")
}

if [ -e server.pem ]; then
  missing=""
  for name in "$@"; do
    is_covered "$name" || missing=$(append "$missing" "$name")
  done
  if [ -n "$missing" ]; then
    covered=$(openssl x509 -in server.pem -noout -ext subjectAltName 2>/dev/null |
      sed -n 's/^ *//; /:./ { /^X509v3/d; s/DNS://g; s/IP Address://g; p; }')
    echo "server.pem is kept, but does not cover $missing (it covers: ${covered:-nothing}). Delete server.pem and server.key and run this again." >&2
    exit 1
  fi
fi

if [ -e ca.pem ]; then
  kept="ca.pem"
else
  openssl req -x509 -newkey ec -pkeyopt ec_paramgen_curve:prime256v1 -noenc -days 3650 \
    -subj "/CN=Syncline private CA" -addext "keyUsage=critical,keyCertSign,cRLSign" \
    -keyout ca.key -out ca.pem 2>/dev/null
  chmod 644 ca.pem # it is public: clients under other users get a copy
  created="ca.pem, ca.key"
fi

if [ -e server.pem ]; then
  kept=$(append "$kept" "server.pem")
else
  names=""
  for name in "$@" localhost 127.0.0.1; do
    entry="$(kind_of "$name"):$name"
    case ",$names," in
      *",$entry,"*) ;;
      *) names="${names:+$names,}$entry" ;;
    esac
  done
  {
    echo "subjectAltName=$names"
    echo "extendedKeyUsage=serverAuth,clientAuth"
  } > "$work/extensions"
  sign server syncline
fi

if [ -e client.pem ]; then
  kept=$(append "$kept" "client.pem")
else
  echo "extendedKeyUsage=clientAuth" > "$work/extensions"
  sign client syncline-client
fi

for secret in token resp-password mesh-secret; do
  if [ -e "$secret" ]; then
    kept=$(append "$kept" "$secret")
  else
    openssl rand -hex 32 > "$secret"
    created=$(append "$created" "$secret")
  fi
done

echo "Created in $PWD: ${created:-nothing}" >&2
[ -z "$kept" ] || echo "Kept: $kept" >&2
