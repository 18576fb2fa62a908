// A Vendure shop: its own schema, its own initial data and its own sample products.
// Usage: vendure_shop.cjs DATABASE_URL, in a folder where @vendure/core and @vendure/create are installed.

const { createRequire } = require('node:module');
const fs = require('node:fs');
const path = require('node:path');
const require_here = createRequire(path.join(process.cwd(), 'package.json'));
const { bootstrap, DefaultJobQueuePlugin, DefaultLogger, dummyPaymentHandler, LogLevel, TransactionalConnection } =
    require_here('@vendure/core');
const { populate } = require_here('@vendure/core/cli');

const url = new URL(process.argv[2]);
const connection =
    url.protocol === 'sqlite:'
        ? { type: 'sqljs' }
        : {
              type: 'postgres',
              host: url.hostname,
              port: Number(url.port),
              username: decodeURIComponent(url.username),
              password: decodeURIComponent(url.password),
              database: url.pathname.slice(1),
          };
const config = {
    apiOptions: { port: 0, hostname: '127.0.0.1', adminApiPath: 'admin-api', shopApiPath: 'shop-api' },
    authOptions: { tokenMethod: 'bearer', superadminCredentials: { identifier: 'admin', password: 'secret' } },
    dbConnectionOptions: { ...connection, synchronize: true, logging: false },
    logger: new DefaultLogger({ level: LogLevel.Error }),
    paymentOptions: { paymentMethodHandlers: [dummyPaymentHandler] },
    plugins: [DefaultJobQueuePlugin],
};
const assets = path.dirname(require_here.resolve('@vendure/create/assets/initial-data.json'));

populate(
    () => bootstrap(config),
    require(path.join(assets, 'initial-data.json')),
    path.join(assets, 'products.csv'),
)
    .then(async app => {
        if (connection.type === 'sqljs') {
            fs.writeFileSync(url.pathname, app.get(TransactionalConnection).rawConnection.sqljsManager.exportDatabase());
        }
        await app.close();
    })
    .then(() => process.exit(0))
    .catch(error => {
        console.error(error);
        process.exit(1);
    });
