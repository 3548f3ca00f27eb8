import { afterAll, beforeAll, expect, test } from 'vitest';
import type { Step } from '../../shared/contract/automations/steps.ts';
import { startedRun } from '../../shared/contract/automations/workflows.ts';
import { startHub } from '../fixtures/hub.ts';
import type { TestHub, TestWorkspace } from '../fixtures/hub.ts';
import { startMailServer } from '../fixtures/mail-server.ts';
import type { MailServer } from '../fixtures/mail-server.ts';
import { send } from '../fixtures/requests.ts';
import { settledRun } from '../fixtures/settled-run.ts';
import {
  cutOffApprovalMail,
  escalateApproval,
  expireApprovals,
  makeApprovalMailDue,
  storeApprovalRequest,
  storeRunPayload,
  storeSteps,
} from '../fixtures/stage/automations.ts';
import { until } from '../fixtures/until.ts';

let mail: MailServer;
let hub: TestHub;
let workspace: TestWorkspace;
const members: Record<string, string> = {};

beforeAll(async () => {
  mail = await startMailServer();
  hub = await startHub({ SMTP_URL: mail.url, MAIL_FROM: 'hub@example.org', PUBLIC_URL: 'https://hub.example.org' });
  workspace = await hub.workspace();
  for (const name of ['ann', 'bob', 'cem']) {
    const email = `${name}.${process.hrtime.bigint()}@example.org`;
    await workspace.session.call('addMember', {
      params: { tenantId: workspace.tenantId },
      body: { email, password: 'correct horse battery', role: 'agent' },
    });
    members[name] = email;
  }
  // An admin who started no run. The API key of the tests belongs to the first admin.
  const email = `dora.${process.hrtime.bigint()}@example.org`;
  await workspace.session.call('addMember', {
    params: { tenantId: workspace.tenantId },
    body: { email, password: 'correct horse battery', role: 'admin' },
  });
  members['dora'] = email;
});
afterAll(async () => {
  await hub[Symbol.asyncDispose]();
  await mail[Symbol.asyncDispose]();
});

type StepInput = Record<string, unknown> & { type: Step['type'] };
const emailOf = (name: string) => members[name] as string;

async function signIn(name: string) {
  const { token } = await hub
    .client()
    .call('logIn', { body: { email: emailOf(name), password: 'correct horse battery' } });
  return { token, session: hub.client(token) };
}

async function start(steps: StepInput[], payload: Record<string, unknown> = {}, api = workspace.api): Promise<string> {
  const { id } = await workspace.api.call('createAutomationWorkflow', {
    body: { name: 'approval', stepsJson: steps as never },
  });
  return startedRun(await api.call('runAutomationWorkflow', { params: { id }, body: { payload } })).runId;
}

const settled = (id: string) => settledRun(workspace.api, id);

async function pendingOf(runId: string) {
  await settled(runId);
  const { data } = await workspace.api.call('listAutomationApprovals', { query: { runId, status: 'pending' } });
  return data[0] as NonNullable<(typeof data)[0]>;
}

const decideAs = async (name: string, id: string, decision: 'approved' | 'rejected') =>
  send(hub.url, 'POST', `/growth/automations/approvals/${id}/decide`, {
    headers: { authorization: `Bearer ${(await signIn(name)).token}` },
    body: { decision },
  });

test('two of three named approvers must approve; other users cannot, and no approver counts twice', async () => {
  const runId = await start([
    { type: 'approval', title: 'Ship?', approvers: ['ann', 'bob', 'cem'].map(emailOf), required: 2 },
  ]);
  const approval = await pendingOf(runId);
  expect(approval).toMatchObject({ required: 2, votes: [], approvers: ['ann', 'bob', 'cem'].map(emailOf) });
  expect(
    (
      await send(hub.url, 'POST', `/v1/automations/approvals/${approval.id}/decide`, {
        headers: { 'x-api-key': workspace.key },
        body: { decision: 'approved' },
      })
    ).body,
  ).toMatchObject({ statusCode: 403, code: 'approver_required' });
  expect(
    (
      await send(hub.url, 'POST', `/growth/automations/approvals/${approval.id}/decide`, {
        headers: { authorization: `Bearer ${workspace.jwt}` },
        body: { decision: 'approved' },
      })
    ).body,
  ).toMatchObject({ statusCode: 403, code: 'approver_required' });
  expect((await decideAs('ann', approval.id, 'approved')).body).toMatchObject({
    status: 'pending',
    votes: [{ approver: emailOf('ann'), decision: 'approved' }],
  });
  expect((await decideAs('ann', approval.id, 'approved')).body).toMatchObject({
    statusCode: 409,
    code: 'approval_already_decided',
  });
  expect((await workspace.api.call('getAutomationRun', { params: { id: runId } })).status).toBe('waiting_approval');
  expect((await decideAs('cem', approval.id, 'approved')).body).toMatchObject({ status: 'approved' });
  expect((await settled(runId)).status).toBe('succeeded');
});

test('one rejection by an approver rejects the approval', async () => {
  const runId = await start([
    { type: 'approval', title: 'Ship?', approvers: ['ann', 'bob'].map(emailOf), required: 2 },
  ]);
  await decideAs('bob', (await pendingOf(runId)).id, 'rejected');
  expect(await settled(runId)).toMatchObject({ status: 'failed', error: { code: 'approval_rejected' } });
});

test('users cannot approve a run that they started', async () => {
  const { session } = await signIn('ann');
  const { id } = await workspace.api.call('createAutomationWorkflow', {
    body: { name: 'own', stepsJson: [{ type: 'approval', title: 'Mine?', approvers: ['ann', 'bob'].map(emailOf) }] },
  });
  const { runId } = startedRun(await session.call('growthRunWorkflow', { params: { id } }));
  const approval = await pendingOf(runId);
  expect((await decideAs('ann', approval.id, 'approved')).body).toMatchObject({
    statusCode: 403,
    code: 'approver_required',
    message: expect.stringContaining('You started this run') as string,
  });
  expect((await decideAs('bob', approval.id, 'approved')).body).toMatchObject({ status: 'approved' });
});

/** Decodes quoted-printable text. */
const unquoted = (text: string) =>
  Buffer.from(
    text
      .replaceAll(/=\r\n/g, '')
      .replaceAll(/=([0-9A-F]{2})/g, (_whole, hex: string) => String.fromCharCode(Number.parseInt(hex, 16))),
    'latin1',
  ).toString();

/** The emails about one approval. Emails of an earlier test may arrive late. */
const mailsAbout = (title: string) => mail.mails.filter(({ raw }) => unquoted(raw).includes(title));

test('each named approver receives a separate mail link that shows the request, decides once, and never decides by being opened', async () => {
  const runId = await start(
    [
      { type: 'approval', title: 'Send <it>?', message: 'Look closely', approvers: ['ann', 'bob'].map(emailOf) },
      { type: 'log', message: 'sent {{payload.n}}' },
    ],
    { n: 5 },
  );
  const approval = await pendingOf(runId);
  await until(
    () => mailsAbout('Send <it>?').length === 2,
    () => `${mailsAbout('Send <it>?').length} mails`,
  );
  const linkTo = (name: string) => {
    const raw =
      mailsAbout('Send <it>?')
        .find(({ to }) => to[0] === emailOf(name))
        ?.raw.replaceAll(/=\r\n/g, '') ?? '';
    return /https:\/\/hub\.example\.org(\/approve\/[A-Za-z0-9_-]+)/.exec(raw)?.[1] as string;
  };
  expect(linkTo('ann')).not.toBe(linkTo('bob'));
  const page = await send(hub.url, 'GET', linkTo('ann'));
  expect([page.status, page.headers.get('referrer-policy')]).toEqual([200, 'no-referrer']);
  expect(page.text).toContain('Send &lt;it&gt;?');
  expect(page.text).toContain('sent 5');
  expect(page.text).not.toContain('<it>');
  expect((await workspace.api.call('getAutomationRun', { params: { id: runId } })).status).toBe('waiting_approval');
  const form = { headers: { 'content-type': 'application/x-www-form-urlencoded' }, raw: 'decision=approved&note=fine' };
  expect((await send(hub.url, 'POST', `${linkTo('ann')}x`, form)).status).toBe(404);
  expect((await send(hub.url, 'POST', linkTo('ann'), { ...form, raw: 'decision=maybe' })).status).toBe(400);
  expect((await send(hub.url, 'POST', linkTo('ann'), form)).text).toContain('approved');
  expect((await send(hub.url, 'POST', linkTo('ann'), form)).status).toBe(409);
  expect((await send(hub.url, 'POST', linkTo('bob'), form)).status).toBe(409);
  expect(await settled(runId)).toMatchObject({
    status: 'succeeded',
    stepsResultJson: [{ output: { decidedBy: `email:${emailOf('ann')}`, note: 'fine' } }, {}],
  });
  const [stored] = await hub.database.query<{ all: string }>(
    'select string_agg(l::text, $2) as all from approval_links l where approval_id = $1',
    [approval.id, ' '],
  );
  expect(stored?.all).not.toContain(linkTo('ann').slice('/approve/'.length));
});

test('the page and the mail of an approval show misleading characters, and hosts in letters of another script, visibly', async () => {
  const url = 'https://\u0430pple.com/pay'; // The first letter of the title is Cyrillic.
  const runId = await start(
    [
      {
        type: 'approval',
        title: 'pay 100\u202E001',
        message: 'to \u2066{{payload.who}}\u2069\nsoon, see {{payload.url}}',
        approvers: [emailOf('ann')],
      },
      {
        type: 'skill',
        skillId: 'webhook.deliver',
        input: { url: '{{payload.url}}', body: { text: 'a\u200B\u{E0041}<b>\u00ADc' } },
      },
    ],
    { who: 'Ann\uFEFF', url },
  );
  const approval = await pendingOf(runId);
  const mailed = () => mailsAbout('pay 100⟨U+202E⟩001');
  await until(
    () => mailed().length === 1,
    () => 'no mail was sent',
  );
  const { links } = await (
    await signIn('dora')
  ).session.call('growthCreateApprovalLinks', { params: { id: approval.id } });
  const { text } = await send(hub.url, 'GET', new URL(links[0]?.url as string).pathname);
  const mark = (...points: string[]) => `<b class="mark">${points.join(' ')}</b>`;
  expect(text).toContain('<title>pay 100⟨U+202E⟩001</title>');
  expect(text).toContain(`<h1>pay 100${mark('U+202E')}001</h1>`);
  expect(text).toContain(
    `to ${mark('U+2066')}Ann${mark('U+FEFF', 'U+2069')}\nsoon, see ${url} ⟨host xn--pple-43d.com⟩`,
  );
  expect(text).toContain(`a${mark('U+200B', 'U+E0041')}&lt;b&gt;${mark('U+00AD')}c`);
  const [head = '', ...body] = (mailed()[0]?.raw ?? '').split('\r\n\r\n');
  expect(unquoted(head.replaceAll(/\?=\s+=\?UTF-8\?Q\?/g, '').replaceAll('_', ' '))).toContain(
    'To approve: pay 100⟨U+202E⟩001',
  );
  expect(unquoted(body.join('\r\n\r\n')).replaceAll('\r\n', '\n')).toContain(
    'pay 100⟨U+202E⟩001\n\nto ⟨U+2066⟩Ann⟨U+FEFF U+2069⟩\nsoon, see https://\u0430pple.com/pay ⟨host xn--pple-43d.com⟩',
  );
});

test('the mail task reads an approval only when a mail is due, and directly after a failed mail is retried', async () => {
  const dueOf = async (id: string) =>
    (
      await hub.database.query<{ seconds: number | null }>(
        'select extract(epoch from mail_due_at - now())::float8 as seconds from approvals where id = $1',
        [id],
      )
    )[0]?.seconds;
  mail.refuse = (to) => (to[0] === emailOf('ann') ? { code: 451, message: 'later' } : null);
  const runId = await start([
    {
      type: 'approval',
      title: 'Once more?',
      approvers: [emailOf('ann'), emailOf('bob')],
      escalateAfterSeconds: 3_000,
      escalateTo: [emailOf('cem')],
    },
  ]);
  const approval = await pendingOf(runId);
  const mailed = () => mailsAbout('Once more?').map(({ to }) => to[0]);
  await until(
    async () => ((await dueOf(approval.id)) ?? 0) > 0 && mailed().length === 1,
    () => 'bob was not mailed',
  );
  await expect.poll(() => dueOf(approval.id)).toBeLessThanOrEqual(60);
  mail.refuse = () => null;
  await makeApprovalMailDue(hub.database, approval.id);
  await until(
    () => mailed().length === 2,
    () => 'ann was not mailed',
  );
  expect(mailed().toSorted()).toEqual([emailOf('ann'), emailOf('bob')].toSorted());
  await expect.poll(() => dueOf(approval.id)).toBeGreaterThan(2_000);
  const [unnamed] = [await pendingOf(await start([{ type: 'approval', title: 'Anybody?' }]))];
  await expect.poll(() => dueOf(unnamed.id)).toBe(null);
});

test('a link whose mail was interrupted by a crash is replaced and mailed', async () => {
  const runId = await start([{ type: 'approval', title: 'Cut off?', approvers: [emailOf('bob')] }]);
  const approval = await pendingOf(runId);
  const mailed = () => mail.mails.filter(({ raw }) => raw.includes('Cut off?')).length;
  await until(
    () => mailed() === 1,
    () => 'no mail was sent',
  );
  await expect
    .poll(() => hub.database.query('select mailing_until from approval_links where approval_id = $1', [approval.id]))
    .toEqual([{ mailing_until: null }]);
  // Simulates a process that died two minutes ago, after it created the link and before it sent the email.
  await cutOffApprovalMail(hub.database, approval.id);
  await until(
    () => mailed() === 2,
    () => 'the link was not mailed again',
  );
});

test('new links that an admin creates replace the old links', async () => {
  const runId = await start([{ type: 'approval', title: 'Again?', approvers: [emailOf('ann')] }]);
  const approval = await pendingOf(runId);
  const first = await (await signIn('dora')).session.call('growthCreateApprovalLinks', { params: { id: approval.id } });
  const second = await (
    await signIn('dora')
  ).session.call('growthCreateApprovalLinks', { params: { id: approval.id } });
  const path = (links: typeof first) => new URL(links.links[0]?.url as string).pathname;
  expect((await send(hub.url, 'GET', path(first))).status).toBe(404);
  expect((await send(hub.url, 'GET', path(second))).status).toBe(200);
  expect(
    (
      await send(hub.url, 'POST', `/growth/automations/approvals/${approval.id}/links`, {
        headers: { authorization: `Bearer ${(await signIn('bob')).token}` },
      })
    ).status,
  ).toBe(403);
});

test('after the escalation delay, other members may decide as well, and receive a mail', async () => {
  mail.mails.length = 0;
  const runId = await start([
    {
      type: 'approval',
      title: 'Urgent?',
      approvers: [emailOf('ann')],
      escalateAfterSeconds: 3_600,
      escalateTo: [emailOf('cem')],
    },
  ]);
  const approval = await pendingOf(runId);
  expect((await decideAs('cem', approval.id, 'approved')).status).toBe(403);
  await escalateApproval(hub.database, approval.id);
  await until(
    () => mail.mails.some(({ to }) => to[0] === emailOf('cem')),
    () => 'no mail was sent',
  );
  expect((await decideAs('cem', approval.id, 'approved')).body).toMatchObject({ status: 'approved' });
});

test('the mails of a test run, those after the escalation included, are recorded as simulated and not sent', async () => {
  const { key } = await workspace.createKey({ environment: 'test' });
  const title = 'Only tried?';
  const step = {
    type: 'approval' as const,
    title,
    approvers: ['customer@example.org'],
    escalateAfterSeconds: 3_600,
    escalateTo: [emailOf('cem')],
  };
  const runId = await start([step], {}, hub.client(key));
  const approval = await pendingOf(runId);
  const recorded = async () =>
    (await workspace.api.call('listAutomationMessages', { query: { runId } })).data.map(
      ({ channel, recipient, status, summary }) => [channel, recipient, status, summary['subject']],
    );
  const simulated = (recipient: string) => ['email', recipient, 'simulated', `To approve: ${title}`];
  await expect.poll(recorded).toEqual([simulated('customer@example.org')]);
  await escalateApproval(hub.database, approval.id);
  await expect.poll(recorded).toEqual([simulated(emailOf('cem')), simulated('customer@example.org')]);
  expect((await decideAs('cem', approval.id, 'approved')).body).toMatchObject({ status: 'approved' });
  // Mails are sent in the order in which they are due.
  await start([{ type: 'approval', title: 'Really?', approvers: [emailOf('ann')] }]);
  await expect.poll(() => mailsAbout('Really?').length).toBe(1);
  expect(mailsAbout(title)).toEqual([]);
});

test('an approval without a decision in time ends as its step defines', async () => {
  const rejecting = await start([{ type: 'approval', title: 'In time?', expiresInSeconds: 1 }]);
  const approving = await start([{ type: 'approval', title: 'In time?', expiresInSeconds: 1, onTimeout: 'approve' }]);
  const ended = async (id: string) => (await workspace.api.call('getAutomationRun', { params: { id } })).status;
  await expect.poll(() => ended(rejecting)).toBe('failed');
  await expect.poll(() => ended(approving)).toBe('succeeded');
  expect(await settled(rejecting)).toMatchObject({ error: { code: 'approval_expired' } });
});

test('an approval is bound to the input of the next step; a changed input needs a new approval', async () => {
  await workspace.api.call('putAutomationMemory', { body: { key: 'bound', value: 'old' } });
  const steps: StepInput[] = [
    { type: 'approval', title: 'Write it?' },
    { type: 'skill', skillId: 'memory.write', input: { key: 'bound', value: '{{payload.value}} at {{now}}' } },
  ];
  const runId = await start(steps, { value: 'new' });
  const approval = await pendingOf(runId);
  expect(approval.request).toMatchObject({
    next: { skillId: 'memory.write', input: { key: 'bound', value: expect.stringMatching(/^new at /) as string } },
  });
  // The data of the run changes while the approver reads the request.
  await storeRunPayload(hub.database, runId, { value: 'evil' });
  await workspace.api.call('decideAutomationApproval', { params: { id: approval.id }, body: { decision: 'approved' } });
  const second = await pendingOf(runId);
  expect(second).toMatchObject({
    title: expect.stringContaining('changed') as string,
    request: { skillId: 'memory.write', input: { value: expect.stringMatching(/^evil at /) as string } },
  });
  await workspace.api.call('decideAutomationApproval', { params: { id: second.id }, body: { decision: 'rejected' } });
  expect((await settled(runId)).status).toBe('failed');
  expect((await workspace.api.call('listAutomationMemory', { query: { key: 'bound' } })).data).toMatchObject([
    { value: 'old' },
  ]);
  // The output of the approval itself cannot be shown in the request, so it is not part of the approved content.
  const noted = await start([
    { type: 'approval', title: 'Note?' },
    { type: 'log', message: 'noted: {{last.outputText}}' },
  ]);
  const asking = await pendingOf(noted);
  expect(asking.request).not.toHaveProperty('next');
  await workspace.api.call('decideAutomationApproval', {
    params: { id: asking.id },
    body: { decision: 'approved', note: 'good' },
  });
  expect(await settled(noted)).toMatchObject({
    status: 'succeeded',
    stepsResultJson: [{}, { output: { message: 'noted: good' } }],
  });
  // Without a change, the approved content is executed.
  const honest = await start(steps, { value: 'new' });
  await workspace.api.call('decideAutomationApproval', {
    params: { id: (await pendingOf(honest)).id },
    body: { decision: 'approved' },
  });
  expect((await settled(honest)).status).toBe('succeeded');
});

test('the policy requires approval for the skills it lists; the approved input is the one that runs, and a modified stored request does not run', async () => {
  await workspace.api.call('putAutomationPolicy', { body: { approvalsRequiredFor: ['memory.w*'] } });
  try {
    const steps: StepInput[] = [{ type: 'skill', skillId: 'memory.write', input: { key: 'gated', value: 1 } }];
    const runId = await start(steps);
    const approval = await pendingOf(runId);
    expect(approval).toMatchObject({ request: { skillId: 'memory.write', input: { key: 'gated', value: 1 } } });
    await workspace.api.call('decideAutomationApproval', {
      params: { id: approval.id },
      body: { decision: 'approved' },
    });
    expect((await settled(runId)).status).toBe('succeeded');
    const tampered = await start(steps);
    const other = await pendingOf(tampered);
    await storeApprovalRequest(hub.database, other.id, { skillId: 'memory.write', input: { key: 'gated', value: 2 } });
    await workspace.api.call('decideAutomationApproval', { params: { id: other.id }, body: { decision: 'approved' } });
    expect(await settled(tampered)).toMatchObject({ status: 'failed', error: { code: 'approval_mismatch' } });
  } finally {
    await workspace.api.call('putAutomationPolicy', { body: {} });
  }
});

test.each([
  [{ required: 2 }, 'required'],
  [{ required: 3, approvers: ['a@b.co', 'c@d.co'] }, 'required'],
  [{ approvers: ['a@b.co'], escalateAfterSeconds: 5 }, 'escalateTo'],
  [{ approvers: ['a@b.co'], escalateTo: ['c@d.co'] }, 'escalateAfterSeconds'],
  [{ escalateTo: ['c@d.co'], escalateAfterSeconds: 5 }, 'approvers'],
])('an approval step with %j is rejected with its field', async (extra, field) => {
  const answer = await send(hub.url, 'POST', '/v1/automations/workflows', {
    headers: { 'x-api-key': workspace.key },
    body: { name: 'x', stepsJson: [{ type: 'approval', title: 't', ...extra }] },
  });
  expect(answer.body).toMatchObject({
    statusCode: 400,
    details: expect.arrayContaining([
      { path: `stepsJson[0].${field}`, message: expect.any(String) as string },
    ]) as unknown,
  });
});

test('timeoutSeconds of an approval step is rejected on save, and a stored step that has it still runs', async () => {
  const stepsJson = [
    { type: 'approval', title: 't', message: '', onTimeout: 'reject', required: 1, timeoutSeconds: 1 },
  ];
  const log = [{ type: 'log', message: 'x' }] as never;
  const { id } = await workspace.api.call('createAutomationWorkflow', { body: { name: 'w', stepsJson: log } });
  const sequence = await workspace.api.call('createAutomationSequence', { body: { name: 's', steps: log } });
  for (const [method, path, field] of [
    ['POST', '/v1/automations/workflows', 'stepsJson'],
    ['PATCH', `/v1/automations/workflows/${id}`, 'stepsJson'],
    ['POST', '/v1/automations/sequences', 'steps'],
    ['PATCH', `/v1/automations/sequences/${sequence.id}`, 'steps'],
  ] as const) {
    const answer = await send(hub.url, method, path, {
      headers: { 'x-api-key': workspace.key },
      body: { ...(method === 'POST' ? { name: 'x' } : {}), [field]: stepsJson },
    });
    expect(answer.body).toMatchObject({
      statusCode: 400,
      details: [
        {
          path: `body.${field}[0].timeoutSeconds`,
          message: expect.stringContaining('set expiresInSeconds') as string,
        },
      ],
    });
  }
  await storeSteps(hub.database, id, stepsJson);
  await workspace.api.call('updateAutomationWorkflow', { params: { id }, body: { name: 'renamed' } });
  expect(await workspace.api.call('getAutomationWorkflow', { params: { id } })).toMatchObject({ stepsJson });
  const { runId } = startedRun(await workspace.api.call('runAutomationWorkflow', { params: { id } }));
  const approval = await pendingOf(runId);
  expect(approval.expiresAt).toBeNull();
  await workspace.api.call('decideAutomationApproval', { params: { id: approval.id }, body: { decision: 'approved' } });
  expect(await settled(runId)).toMatchObject({ status: 'succeeded' });
});

test('more approvals than one batch that expire at the same time end in one sweep', async () => {
  const other = await hub.workspace();
  const { id } = await other.api.call('createAutomationWorkflow', {
    body: { name: 'many', stepsJson: [{ type: 'approval', title: 'May I?', message: 'Please.' }] as never },
  });
  const count = async (status: string) =>
    (
      await hub.database.query<{ count: number }>(
        'select count(*)::int as count from approvals where tenant_id = $1 and status = $2',
        [other.tenantId, status],
      )
    )[0]?.count;
  for (let begun = 0; begun < 150; begun += 50)
    await Promise.all(
      Array.from({ length: 50 }, () => other.api.call('runAutomationWorkflow', { params: { id }, body: {} })),
    );
  await expect.poll(() => count('pending')).toBe(150);
  await expireApprovals(hub.database, { tenantId: other.tenantId });
  await hub.app.sweep();
  // Approvals that another transaction has locked expire in the next pass.
  expect(await count('pending')).toBeLessThan(50);
  await expect.poll(() => count('expired')).toBe(150);
});
