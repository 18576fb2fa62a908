// Lets Node import the modules of the explorer, which name each other by their paths on the server.
import { register } from 'node:module';

const UI = new URL('../../../crates/aquifer-explorer/ui', import.meta.url).href;

const hooks = `
  export const resolve = (name, context, next) => next(name.startsWith('/') ? ${JSON.stringify(UI)} + name : name, context);
  export const load = (url, context, next) => next(url, url.startsWith(${JSON.stringify(UI)}) ? { ...context, format: 'module' } : context);`;
register(`data:text/javascript,${encodeURIComponent(hooks)}`);
