// Reads the URI names out of a certificate's subjectAltName, as Node writes it in one line:
// `DNS:localhost, IP Address:127.0.0.1, URI:syncline://dev/node/1`.
//
// A name that holds a comma, a quote or a control character is written as a JSON string, its commas as \u002c.
// So a comma with a space always separates two names, and no name can pretend to be two.

export function uriNames(subjectAltName: string | undefined): readonly string[] {
  const names = subjectAltName?.split(', ') ?? [];
  return names
    .filter((name) => name.startsWith('URI:'))
    .map((name) => unquote(name.slice('URI:'.length)));
}

function unquote(name: string): string {
  return name.startsWith('"') ? String(JSON.parse(name)) : name;
}
