// Starts LoopBack's to-do example on a free port of this machine, adds a few rows, and prints its address. Its data are
// in memory. Usage: PACKAGES=DIR node todo_api.cjs

const { createRequire } = require("node:module");
const required = createRequire(`${process.env.PACKAGES}/x.js`);
const { TodoListApplication } = required("@loopback/example-todo");

async function main() {
  const app = new TodoListApplication({
    rest: { port: 0, host: "127.0.0.1", gracePeriodForClose: 0, openApiSpec: { setServersFromRequest: true } },
  });
  // Without a file, the database of the example lives in memory.
  app.bind("datasources.config.db").to({ name: "db", connector: "memory" });
  await app.boot();
  await app.start();
  const url = app.restServer.url;
  for (const [title, isComplete] of [["Water the plants", true], ["Call the bank", false], ["Repair the bicycle", false]]) {
    const answer = await fetch(`${url}/todos`, {
      method: "POST",
      headers: { "content-type": "application/json" },
      body: JSON.stringify({ title, desc: `${title}, soon`, isComplete }),
    });
    if (!answer.ok) throw new Error(`the API answered ${answer.status}`);
  }
  console.log(url);
}

main().catch((error) => {
  console.error(error);
  process.exit(1);
});
