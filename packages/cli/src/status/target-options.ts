// The options of every command that connects to a server.
import type { Command } from 'commander';

export function addTargetOptions(command: Command): Command {
  return command
    .option('--url <url>', 'Server URL (or SYNCLINE_URL; http://127.0.0.1:7400)')
    .option('--ca-file <file>', 'PEM file with the CA that signed the server certificate')
    .option('--cert-file <file>', 'PEM file with the certificate of this client')
    .option('--key-file <file>', 'PEM file with the key of that certificate')
    .option('--config <file>', "The server's TOML file: provides address, token and certificates");
}
