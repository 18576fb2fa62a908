// Loaded before the suite, whose servers would listen on every address of the machine: they listen on this machine's own.
// Naming the address in `listen` would do the same a moment later, but the suite asks for its port at once.

const { Server } = require('node:net');

const BACKLOG = 511;
const IPV4 = 4;

Server.prototype.listen = function (port, ...rest) {
  const callback = rest.find((argument) => typeof argument === 'function');
  if (callback) this.once('listening', callback);
  this._listen2('127.0.0.1', port, IPV4, BACKLOG);
  return this;
};
