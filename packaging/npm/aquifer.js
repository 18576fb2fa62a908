#!/usr/bin/env node
// Runs the binary of this platform, which npm has installed as an optional dependency.
'use strict';

const { spawn } = require('node:child_process');
const path = require('node:path');

const PACKAGES = { 'linux x64': '@aquifer-mcp/linux-x64', 'linux arm64': '@aquifer-mcp/linux-arm64' };

function fail(message) {
  process.stderr.write(`aquifer: ${message}\n`);
  process.exit(1);
}

function findBinary() {
  const platform = `${process.platform} ${process.arch}`;
  const name = PACKAGES[platform];
  if (!name) {
    fail(
      `there is no package for ${platform}, only for: ${Object.keys(PACKAGES).join(', ')}.\n` +
        'To build it yourself, install Rust and run: cargo install --git https://github.com/aquifer-mcp/aquifer aquifer',
    );
  }
  try {
    return path.join(path.dirname(require.resolve(`${name}/package.json`)), 'bin', 'aquifer');
  } catch {
    fail(
      `the package ${name} is missing. It is an optional dependency: install again without --omit=optional or ` +
        '--no-optional, and not with node_modules of another platform.',
    );
  }
}

const binary = findBinary();
const words = process.argv.slice(2);

// Replaces this process where Node.js can, so that no second process stays in memory and signals need no help.
if (typeof process.execve === 'function') {
  process.removeAllListeners('warning');
  try {
    process.execve(binary, [binary, ...words], process.env);
  } catch {
    // The permission model of Node.js forbids it, or the file system. Starting a child may still work.
  }
}

const child = spawn(binary, words, { stdio: 'inherit' });
// A terminal sends its signals to both processes: this one only has to outlive the other. Others send them to this one.
for (const signal of ['SIGINT', 'SIGTERM', 'SIGHUP', 'SIGQUIT', 'SIGUSR1', 'SIGUSR2']) {
  process.on(signal, () => child.kill(signal));
}
child.on('error', (error) => fail(`${binary} does not start: ${error.message}`));
child.on('exit', (code, signal) => {
  if (signal === null) process.exit(code);
  process.removeAllListeners(signal);
  process.kill(process.pid, signal);
});
