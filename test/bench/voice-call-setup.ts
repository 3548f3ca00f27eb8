import { mkdtemp, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join, resolve } from 'node:path';
import { Client as PgClient } from 'pg';
import type { Browser, Page } from 'playwright-core';
import { build } from 'vite';
import type { Rollup } from 'vite';
import { migrateDatabase } from '../../hub/platform/db/migrate.ts';
import { startPostgresServer } from '../../hub/platform/postgres-server/server.ts';
import { findBrowser } from '../../node-agent/runtime/commands/browser/find-browser.ts';
import { kamailioServerAvailable, startKamailioServer } from '../fixtures/kamailio-server.ts';
import { startTalkingBrowser } from '../fixtures/voice-tab.ts';
import { startBenchHub } from './hub.ts';
import { compared } from './table.ts';
import { compareRegistrations, registrationRows } from './voice-softphones.ts';
import { createPhoneUsers, manySignInsSettings, startBareRelay } from './voice-users.ts';
import type { PhoneUser } from './voice-users.ts';

type Row = Record<string, string>;

const registering = 20;
/** A softphone may dial 30 times a minute. */
const pauseMs = 2_000;
const callTimeoutMs = 20_000;

/** Bundles the call code of the softphone page without the page. */
async function bundleSession(): Promise<string> {
  const built = (await build({
    configFile: false,
    logLevel: 'silent',
    build: {
      write: false,
      lib: { entry: resolve('hub/web/phone/sip-connection.ts'), formats: ['iife'], name: 'Phone' },
    },
  })) as Rollup.RollupOutput[];
  return (built[0] as Rollup.RollupOutput).output[0].code;
}

/** Code for the page: a softphone session that records when a call was dialled, answered and got its media. */
const script = (domain: string, user: string) => `
const now = () => performance.timeOrigin + performance.now();
const whenConnected = (session) => new Promise((done) => {
  let left = 2;
  const one = () => --left === 0 && done(now());
  session.on('confirmed', one);
  const watch = (connection) => {
    const look = () => {
      if (connection.connectionState !== 'connected') return;
      connection.removeEventListener('connectionstatechange', look);
      one();
    };
    connection.addEventListener('connectionstatechange', look);
    look();
  };
  if (session.connection) watch(session.connection);
  else session.on('peerconnection', ({ peerconnection }) => watch(peerconnection));
});
const microphone = () => navigator.mediaDevices.getUserMedia({ audio: true });
window.ready = new Promise((done, fail) => {
  window.line = new Phone.SipConnection({
    domain: ${JSON.stringify(domain)}, user: ${JSON.stringify(user)}, displayName: 'Bench', onReady: done, onLost: () => undefined, onEnd: fail,
    onIncoming: async (session) => {
      window.rang = now();
      window.connected = whenConnected(session);
      window.over = new Promise((done) => { session.on('ended', done); session.on('failed', done); });
      line.answer(session, await microphone());
    },
  });
  line.start();
});
window.dial = async (whom) => {
  const dialled = now();
  const session = line.call(whom, await microphone());
  window.over = new Promise((done) => { session.on('ended', done); session.on('failed', done); });
  const failed = new Promise((_, fail) => session.on('failed', ({ cause }) => fail(new Error(cause))));
  setTimeout(() => session.isEstablished() || session.terminate(), ${callTimeoutMs});
  const connected = await Promise.race([whenConnected(session), failed]);
  window.hangUp = () => session.terminate();
  return { dialled, connected };
};
`;

async function openSession(
  browser: Browser,
  base: string,
  {
    cookie,
    code,
    domain,
    user,
  }: { cookie: { name: string; value: string }; code: string; domain: string; user: string },
): Promise<Page> {
  const context = await browser.newContext({ bypassCSP: true });
  await context.addCookies([{ ...cookie, url: base }]);
  await context.grantPermissions(['microphone'], { origin: base });
  const page = await context.newPage();
  page.setDefaultTimeout(callTimeoutMs);
  // Blocks the scripts of the softphone page. A page of another origin could not connect to the loopback interface.
  await page.route('**/*.js', (route) => route.abort());
  await page.goto(`${base}/phone`);
  await page.addScriptTag({ content: code });
  await page.addScriptTag({ content: script(domain, user) });
  await page.evaluate(
    `Promise.race([ready, new Promise((_, fail) => setTimeout(() => fail(new Error('no registration')), ${callTimeoutMs}))])`,
  );
  return page;
}

interface CallTimes {
  /** Until the called phone rings. */
  ringing: number;
  /** Until media is connected and the call is confirmed on both sides. */
  talking: number;
}

async function call(caller: Page, callee: Page, whom: string): Promise<CallTimes> {
  const { dialled, connected } = (await caller.evaluate(`dial(${JSON.stringify(whom)})`)) as Record<
    'dialled' | 'connected',
    number
  >;
  const [rang, there] = (await callee.evaluate('connected.then((at) => [rang, at])')) as [number, number];
  await caller.evaluate('hangUp()');
  await Promise.all([caller.evaluate('over.then(() => null)'), callee.evaluate('over.then(() => null)')]);
  return { ringing: rang - dialled, talking: Math.max(connected, there) - dialled };
}

/**
 * Compares registrations and calls through the hub with those at the SIP server of deploy/kamailio. Prints a missing
 * tool and returns null.
 */
export async function measureSetUp(
  wanted: { register: boolean; setUp: boolean },
  { rounds, calls }: { rounds: number; calls: number },
): Promise<{ register: Row[] | null; setUp: Row[] | null }> {
  const program = findBrowser(undefined)?.path;
  const skip = (what: string, tool: string) =>
    process.stdout.write(`\nNOT MEASURED: ${what}, because ${tool} is not here; test/setup.sh installs it.\n`);
  if (!kamailioServerAvailable) {
    if (wanted.register) skip('REGISTER at Kamailio', 'Kamailio');
    if (wanted.setUp) skip('the set-up of calls', 'Kamailio');
    return { register: null, setUp: null };
  }
  const home = await mkdtemp(join(tmpdir(), `outrigger-bench-${process.pid}-`));
  await using stack = new AsyncDisposableStack();
  stack.defer(() => rm(home, { recursive: true, force: true }));
  const postgres = stack.use(await startPostgresServer({ home, onNotice: () => undefined }));
  await migrateDatabase(postgres.url);
  const owner = new PgClient({ connectionString: postgres.superuserUrl });
  await owner.connect();
  stack.defer(() => owner.end());
  const server = stack.use(
    await startKamailioServer({
      url: postgres.superuserUrl,
      query: async <Each>(text: string, values: unknown[] = []) => (await owner.query(text, values)).rows as Each[],
      [Symbol.asyncDispose]: async () => undefined,
    }),
  );
  const hub = stack.use(await startBenchHub({ ...server.env, ...manySignInsSettings, DATABASE_URL: postgres.url }));
  const domain = server.env['SIP_DOMAIN'] as string;
  // A call rings at every registration of a user, so callers and registering users are different, also per variant.
  const [ann, ben, cid, dan, ...users] = (await createPhoneUsers(hub, 4 + registering)) as [
    PhoneUser,
    PhoneUser,
    PhoneUser,
    PhoneUser,
  ];
  const register = wanted.register
    ? registrationRows(
        'REGISTER to Kamailio, and its 200',
        await compareRegistrations({ hub, env: server.env, users }, rounds),
        { took: '2 ms', added: '' },
      )
    : null;
  if (!wanted.setUp) return { register, setUp: null };
  if (program === undefined) {
    skip('the set-up of calls', 'Chromium');
    return { register, setUp: null };
  }
  const browser = await startTalkingBrowser(program);
  stack.defer(() => browser.close());
  const relay = stack.use(await startBareRelay(server.env));
  const code = await bundleSession();
  const byHub = ({ jwt, user }: PhoneUser) =>
    openSession(browser, hub.url, { cookie: { name: 'outrigger_session', value: jwt }, code, domain, user });
  const byRelay = ({ user }: PhoneUser) =>
    openSession(browser, relay.url, { cookie: { name: 'user', value: user }, code, domain, user });
  const [hubCaller, hubCallee] = [await byHub(ann), await byHub(ben)];
  const [bareCaller, bareCallee] = [await byRelay(cid), await byRelay(dan)];
  const times: Record<'hub' | 'bare', CallTimes[]> = { hub: [], bare: [] };
  const variants = {
    hub: () => call(hubCaller, hubCallee, ben.user),
    bare: () => call(bareCaller, bareCallee, dan.user),
  };
  const warmUps = 2;
  for (let round = 0; round < calls + warmUps; round += 1) {
    for (const name of round % 2 === 0 ? (['hub', 'bare'] as const) : (['bare', 'hub'] as const)) {
      const took = await variants[name]();
      if (round >= warmUps) times[name].push(took);
    }
    await new Promise((done) => setTimeout(done, pauseMs));
  }
  const of = (name: keyof typeof times, what: keyof CallTimes) => times[name].map((each) => each[what]);
  return {
    register,
    setUp: [
      { ...compared('without the hub: dialled to ringing', of('bare', 'ringing')), aim: '' },
      { ...compared('by the hub', of('hub', 'ringing'), of('bare', 'ringing')), aim: '' },
      { ...compared('without the hub: dialled to connected media on both sides', of('bare', 'talking')), aim: '' },
      { ...compared('by the hub', of('hub', 'talking'), of('bare', 'talking')), aim: '250 ms' },
    ],
  };
}
