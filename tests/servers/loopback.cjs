// Loaded before a server that would listen on every address of the machine: it listens on this machine's own, and says
// on which port.

const { Server } = require('node:net');

const listen = Server.prototype.listen;

Server.prototype.listen = function (port, ...rest) {
  this.once('listening', () => console.error(`loopback port ${this.address().port}`));
  return listen.call(this, port, '127.0.0.1', ...rest);
};
