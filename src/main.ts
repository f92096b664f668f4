#!/usr/bin/env node
import { readFileSync } from 'node:fs';
import * as nodeModule from 'node:module';
import { fileURLToPath } from 'node:url';

// Exists since Node 22.1, and is missing in the types:
// https://nodejs.org/api/module.html#moduleenablecompilecachecachedir
(nodeModule as { readonly enableCompileCache?: () => unknown }).enableCompileCache?.();

// The exit code if the event loop ends before main() has settled.
process.exitCode = 1;
void main(process.argv.slice(2))
  .catch((error: unknown) => {
    process.stderr.write(`upkeep: internal error: ${error instanceof Error ? error.message : String(error)}\n`);
    return 1;
  })
  .then((code) => {
    process.exitCode = code;
  });

/**
 * The beginning of every command. A command loads only the modules that it needs: help and version load the options,
 * the demo loads no real engine.
 */
async function main(argv: readonly string[]): Promise<number> {
  // If the reader of the output goes away, as in `upkeep update | head -1`, an update must still be completed.
  for (const stream of [process.stdout, process.stderr]) stream.on('error', () => undefined);
  process.stdout.once('error', failUnlessReaderWent);
  const { loadConfiguration } = await import('./config/read/load.ts');
  const configuration = loadConfiguration(argv);
  switch (configuration.kind) {
    case 'version':
      process.stdout.write(`${version()}\n`);
      return 0;
    case 'help': {
      const { helpText } = await import('./config/show/help.ts');
      process.stdout.write(
        helpText(configuration.command, { columns: process.stdout.columns || 100, isAll: configuration.isAll }),
      );
      return 0;
    }
    case 'faults': {
      const lines = configuration.message.split('\n').map((line) => `upkeep: ${line}\n`);
      const remedy = 'upkeep --help lists the commands, upkeep COMMAND --help the options; nothing was changed';
      process.stderr.write(`${lines.join('')}  ${remedy}\n`);
      return configuration.exitCode;
    }
    case 'completion':
      return printCompletion(configuration.operands);
    case 'command': {
      const { runCommand } = await import('./composition/run-command.ts');
      return runCommand(configuration, {
        version: version(),
        assetsFolder: fileURLToPath(new URL('./swagger-ui/', import.meta.url)),
        dashboardFolder: fileURLToPath(new URL('./dashboard/', import.meta.url)),
      });
    }
  }
}

/** A document that a full disk has cut off must not look complete, as after the codes 0, 3 and 10. A signal's code stays. */
function failUnlessReaderWent({ code, message }: NodeJS.ErrnoException): void {
  if (code === 'EPIPE') return;
  process.stderr.write(`upkeep: Cannot write the output: ${message}\n`);
  process.on('exit', (code) => {
    if (code < 128) process.exitCode = 1;
  });
}

async function printCompletion(operands: readonly string[]): Promise<number> {
  const { completionFor } = await import('./config/completion.ts');
  const completion = completionFor(operands);
  if (completion.kind === 'script') {
    process.stdout.write(completion.text);
    return 0;
  }
  process.stderr.write(`upkeep: ${completion.message}\n`);
  return 2;
}

/** Reads the manifest that the build writes beside the program, because dist/ may be copied to any place. */
function version(): string {
  const text = readFileSync(new URL('./package.json', import.meta.url), 'utf8');
  const manifest: unknown = JSON.parse(text);
  return typeof manifest === 'object' && manifest !== null && 'version' in manifest
    ? String(manifest.version)
    : 'unknown';
}
