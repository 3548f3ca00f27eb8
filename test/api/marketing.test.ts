import { afterAll, beforeAll, expect, test } from 'vitest';
import type { Step } from '../../shared/contract/automations/steps.ts';
import { startedRun } from '../../shared/contract/automations/workflows.ts';
import { startHub } from '../fixtures/hub.ts';
import type { TestHub, TestWorkspace } from '../fixtures/hub.ts';
import { startMailServer } from '../fixtures/mail-server.ts';
import type { MailServer } from '../fixtures/mail-server.ts';
import { send } from '../fixtures/requests.ts';
import { settledRun } from '../fixtures/settled-run.ts';
import { leaveMailSending, setContactAttributes } from '../fixtures/stage/marketing.ts';

let mail: MailServer;
let hub: TestHub;
let workspace: TestWorkspace;

beforeAll(async () => {
  mail = await startMailServer();
  hub = await startHub({
    SMTP_URL: mail.url,
    MAIL_FROM: 'Outrigger <hub@example.org>',
    PUBLIC_URL: 'https://hub.example.org',
  });
  workspace = await hub.workspace();
});
afterAll(async () => {
  await hub[Symbol.asyncDispose]();
  await mail[Symbol.asyncDispose]();
});

async function run(steps: (Record<string, unknown> & { type: Step['type'] })[], api = workspace.api) {
  const { id } = await workspace.api.call('createAutomationWorkflow', {
    body: { name: 'mail', stepsJson: steps as never },
  });
  const { runId } = startedRun(await api.call('runAutomationWorkflow', { params: { id } }));
  return settledRun(workspace.api, runId);
}

test('email.send sends one mail through SMTP, and records it', async () => {
  mail.mails.length = 0;
  const done = await run([
    { type: 'skill', skillId: 'email.send', input: { to: ['ann@example.org'], subject: 'Hello', body: 'A text' } },
  ]);
  expect(done).toMatchObject({ status: 'succeeded', stepsResultJson: [{ output: { accepted: ['ann@example.org'] } }] });
  expect(mail.mails).toMatchObject([
    { from: 'hub@example.org', to: ['ann@example.org'], raw: expect.stringContaining('A text') as string },
  ]);
  expect(mail.mails[0]?.raw).toMatch(/Message-ID: <.*@outrigger>/i);
  expect(await workspace.api.call('listAutomationMessages', { query: { runId: done.id } })).toMatchObject({
    data: [{ channel: 'email', recipient: 'ann@example.org', status: 'delivered', workflowId: done.workflowId }],
  });
});

test('a deliver step of type email sends in the same way; in the test environment it sends nothing', async () => {
  mail.mails.length = 0;
  await run([{ type: 'deliver', provider: 'email', to: 'ann@example.org', subject: 'S', text: 'T' }]);
  expect(mail.mails.length).toBe(1);
  const { key } = await workspace.createKey({ environment: 'test' });
  const simulated = await run(
    [{ type: 'deliver', provider: 'email', to: 'ann@example.org', text: 'T' }],
    hub.client(key),
  );
  expect(simulated).toMatchObject({ status: 'succeeded', environment: 'test' });
  expect(mail.mails.length).toBe(1);
  expect(await workspace.api.call('listAutomationMessages', { query: { runId: simulated.id } })).toMatchObject({
    data: [{ status: 'simulated' }],
  });
});

test('a mail that the server rejects permanently fails immediately; a temporary rejection is retried', async () => {
  mail.mails.length = 0;
  mail.refuse = () => ({ code: 550, message: 'no such person' });
  expect(
    await run([{ type: 'skill', skillId: 'email.send', input: { to: ['x@example.org'], subject: 'S', text: 'T' } }]),
  ).toMatchObject({
    status: 'failed',
    error: { code: 'delivery_refused', message: expect.stringContaining('no such person') as string },
    stepsResultJson: [{ attempts: 1 }],
  });
  let busy = 1;
  mail.refuse = () => (busy-- > 0 ? { code: 451, message: 'later' } : null);
  expect(
    await run([
      {
        type: 'skill',
        skillId: 'email.send',
        input: { to: ['x@example.org'], subject: 'S', text: 'T' },
        retry: { maxAttempts: 3, backoffSeconds: 0 },
      },
    ]),
  ).toMatchObject({ status: 'succeeded', stepsResultJson: [{ attempts: 2 }] });
  mail.refuse = () => null;
});

test('a campaign reaches each contact once despite retries, with an unsubscribe link', async () => {
  mail.mails.length = 0;
  const list = await workspace.session.call('createContactList', { body: { name: 'Friends' } });
  const contacts = [
    { email: 'Ann@example.org', name: 'Ann <b>', attributes: { city: 'Rome' } },
    { email: 'bob@example.org' },
    { email: 'cem@example.org' },
  ];
  expect(await workspace.session.call('addContacts', { params: { id: list.id }, body: { contacts } })).toEqual({
    added: 3,
    updated: 0,
  });
  expect(
    await workspace.session.call('addContacts', {
      params: { id: list.id },
      body: { contacts: [{ email: 'ann@example.org', attributes: { team: 'blue' } }] },
    }),
  ).toEqual({ added: 0, updated: 1 });
  expect(
    (await workspace.session.call('listContacts', { params: { id: list.id } })).data.find(
      ({ email }) => email === 'ann@example.org',
    ),
  ).toMatchObject({ name: 'Ann <b>', attributes: { city: 'Rome', team: 'blue' } });
  const campaign = await workspace.session.call('createCampaign', {
    body: {
      name: 'News',
      listId: list.id,
      subject: 'Hi {{name}}',
      html: '<p>{{name}} in {{attributes.city}}</p>',
      text: 'Dear {{name}}',
    },
  });

  // The mail server accepts one email and then refuses for a while. The retry must continue where the first attempt
  // stopped.
  let mailCount = 0;
  mail.refuse = () => (++mailCount === 2 ? { code: 451, message: 'slow down' } : null);
  const steps = [
    {
      type: 'skill' as const,
      skillId: 'marketing.campaign_send',
      input: { campaignId: campaign.id },
      retry: { maxAttempts: 3, backoffSeconds: 0 },
    },
  ];
  const first = await run(steps);
  expect(first).toMatchObject({ status: 'succeeded', stepsResultJson: [{ attempts: 2 }] });
  mail.refuse = () => null;
  expect(mail.mails.map(({ to }) => to[0]).toSorted()).toEqual([
    'ann@example.org',
    'bob@example.org',
    'cem@example.org',
  ]);
  const ann = mail.mails.find(({ to }) => to[0] === 'ann@example.org')?.raw ?? '';
  expect(ann).toContain('Ann &lt;b&gt; in Rome');
  expect(ann).toMatch(/List-Unsubscribe-Post: List-Unsubscribe=One-Click/);
  // Another run of the campaign sends nothing.
  await run(steps);
  expect(mail.mails.length).toBe(3);
  expect((await workspace.session.call('listCampaigns', {})).data[0]).toMatchObject({
    mails: { sent: 3, failed: 0, unknown: 0 },
  });

  const link = /List-Unsubscribe:\s*<https:\/\/hub\.example\.org(\/unsubscribe\/[^>]+)>/.exec(
    ann.replaceAll(/\r\n[ \t]/g, ''),
  )?.[1] as string;
  const page = await send(hub.url, 'GET', link);
  expect([page.status, page.text.includes('ann@example.org')]).toEqual([200, true]);
  // Opening the page unsubscribes no contact, because mail programs open links. Only the button of the page or of a
  // mail program does.
  expect((await workspace.session.call('listContactLists', {})).data[0]).toMatchObject({
    contacts: 3,
    unsubscribed: 0,
  });
  expect((await send(hub.url, 'POST', link)).status).toBe(200);
  expect((await workspace.session.call('listContactLists', {})).data[0]).toMatchObject({ unsubscribed: 1 });
  expect((await send(hub.url, 'POST', `${link}x`)).status).toBe(404);
  const second = await workspace.session.call('createCampaign', {
    body: { name: 'More', listId: list.id, subject: 'S', text: 'T' },
  });
  await run([{ ...steps[0], type: 'skill', input: { campaignId: second.id } }]);
  expect(
    mail.mails
      .slice(3)
      .map(({ to }) => to[0])
      .toSorted(),
  ).toEqual(['bob@example.org', 'cem@example.org']);
});

test('a test run of a campaign sends to all contacts as simulated, and mails of live runs are independent of it', async () => {
  mail.mails.length = 0;
  const list = await workspace.session.call('createContactList', { body: { name: 'Tried' } });
  const contacts = [{ email: 'one@example.org' }, { email: 'two@example.org' }];
  await workspace.session.call('addContacts', { params: { id: list.id }, body: { contacts } });
  const campaign = await workspace.session.call('createCampaign', {
    body: { name: 'Tried', listId: list.id, subject: 'S', text: 'T' },
  });
  const tester = hub.client((await workspace.createKey({ environment: 'test' })).key);
  const step = { type: 'skill' as const, skillId: 'marketing.campaign_send', input: { campaignId: campaign.id } };
  const outputOf = async (api = workspace.api) => (await run([step], api)).stepsResultJson[0]?.output;
  expect(await outputOf(tester)).toMatchObject({ sent: 0, simulated: 2, total: { sent: 0, simulated: 2 } });
  expect(mail.mails).toEqual([]);
  expect(await outputOf()).toMatchObject({ sent: 2, simulated: 0, total: { sent: 2, simulated: 2 } });
  expect(mail.mails.map(({ to }) => to[0]).toSorted()).toEqual(contacts.map(({ email }) => email));
  // The live mails do not keep a later test run from simulating all of them.
  expect(await outputOf(tester)).toMatchObject({ sent: 0, simulated: 2, total: { sent: 2, simulated: 4 } });
  expect(await outputOf()).toMatchObject({ sent: 0, simulated: 0 });
  expect(mail.mails.length).toBe(2);
});

test('a contact counts as simulated once for each test run, however often the run sends the campaign', async () => {
  const list = await workspace.session.call('createContactList', { body: { name: 'Once' } });
  await workspace.session.call('addContacts', {
    params: { id: list.id },
    body: { contacts: [{ email: 'one@example.org' }, { email: 'two@example.org' }] },
  });
  const campaign = await workspace.session.call('createCampaign', {
    body: { name: 'Once', listId: list.id, subject: 'S', text: 'T' },
  });
  const tester = hub.client((await workspace.createKey({ environment: 'test' })).key);
  const step = { type: 'skill' as const, skillId: 'marketing.campaign_send', input: { campaignId: campaign.id } };
  for (const total of [2, 4])
    expect((await run([step, step], tester)).stepsResultJson).toMatchObject([
      { output: { simulated: 2, total: { simulated: total } } },
      { output: { simulated: 2, total: { simulated: total } } },
    ]);
});

test('a mail with an unknown result is not sent again, by a step or a campaign', async () => {
  mail.mails.length = 0;
  mail.breaksConnection = true;
  try {
    const sent = await run([
      {
        type: 'skill',
        skillId: 'email.send',
        input: { to: ['doubt@example.org'], subject: 'S', text: 'T' },
        retry: { maxAttempts: 3, backoffSeconds: 0 },
      },
    ]);
    expect(sent).toMatchObject({
      status: 'failed',
      error: { code: 'outcome_unknown' },
      stepsResultJson: [{ attempts: 1 }],
    });
    const list = await workspace.session.call('createContactList', { body: { name: 'Doubt' } });
    await workspace.session.call('addContacts', {
      params: { id: list.id },
      body: { contacts: [{ email: 'first@example.org' }, { email: 'second@example.org' }] },
    });
    const campaign = await workspace.session.call('createCampaign', {
      body: { name: 'Doubt', listId: list.id, subject: 'S', text: 'T' },
    });
    const step = { type: 'skill' as const, skillId: 'marketing.campaign_send', input: { campaignId: campaign.id } };
    expect(await run([step])).toMatchObject({
      status: 'succeeded',
      stepsResultJson: [{ output: { sent: 0, unknown: 2 } }],
    });
    mail.breaksConnection = false;
    await run([step]);
    expect(mail.mails.map(({ to }) => to[0])).toEqual(['doubt@example.org', 'first@example.org', 'second@example.org']);
  } finally {
    mail.breaksConnection = false;
  }
});

test('a mail that a crash interrupted is not sent again', async () => {
  const list = await workspace.session.call('createContactList', { body: { name: 'Cut' } });
  await workspace.session.call('addContacts', {
    params: { id: list.id },
    body: { contacts: [{ email: 'cut@example.org' }, { email: 'rest@example.org' }] },
  });
  const campaign = await workspace.session.call('createCampaign', {
    body: { name: 'Cut', listId: list.id, subject: 'S', text: 'T' },
  });
  // Simulates a worker that died between claiming and finishing an email.
  await leaveMailSending(hub.database, campaign.id, 'cut@example.org');
  mail.mails.length = 0;
  const done = await run([{ type: 'skill', skillId: 'marketing.campaign_send', input: { campaignId: campaign.id } }]);
  expect(mail.mails.map(({ to }) => to[0])).toEqual(['rest@example.org']);
  expect(done.stepsResultJson[0]?.output).toMatchObject({ sent: 1, total: { sent: 1, unknown: 1 } });
});

test('lists and campaigns are updated and deleted in order, and those of another workspace are not found', async () => {
  const list = await workspace.session.call('createContactList', { body: { name: 'Gone' } });
  await workspace.session.call('addContacts', {
    params: { id: list.id },
    body: { contacts: [{ email: 'one@example.org' }] },
  });
  const [contact] = (await workspace.session.call('listContacts', { params: { id: list.id } })).data;
  expect(await workspace.session.call('deleteContact', { params: { id: contact?.id as string } })).toEqual({
    id: contact?.id,
    deleted: true,
  });
  expect((await workspace.session.call('listContacts', { params: { id: list.id } })).data).toEqual([]);
  const campaign = await workspace.session.call('createCampaign', {
    body: { name: 'Gone', listId: list.id, subject: 'S', text: 'T' },
  });
  expect(
    await workspace.session.call('updateCampaign', { params: { id: campaign.id }, body: { subject: 'Other' } }),
  ).toMatchObject({ subject: 'Other', text: 'T' });
  const headers = { authorization: `Bearer ${workspace.jwt}` };
  expect(
    (await send(hub.url, 'PATCH', `/growth/marketing/campaigns/${campaign.id}`, { headers, body: { text: null } }))
      .body,
  ).toMatchObject({ statusCode: 400 });
  expect((await send(hub.url, 'DELETE', `/growth/marketing/lists/${list.id}`, { headers })).body).toMatchObject({
    statusCode: 409,
    code: 'conflict',
  });
  const otherWorkspace = await hub.workspace();
  for (const [method, path] of [
    ['DELETE', `/growth/marketing/lists/${list.id}`],
    ['GET', `/growth/marketing/lists/${list.id}/contacts`],
    ['DELETE', `/growth/marketing/campaigns/${campaign.id}`],
  ] as const) {
    expect(
      (await send(hub.url, method, path, { headers: { authorization: `Bearer ${otherWorkspace.jwt}` } })).status,
    ).toBe(404);
  }
  await workspace.session.call('deleteCampaign', { params: { id: campaign.id } });
  expect(await workspace.session.call('deleteContactList', { params: { id: list.id } })).toEqual({
    id: list.id,
    deleted: true,
  });
});

test('attributes of a contact have at most 50 keys and 16 KiB, also after a merge', async () => {
  const { jwt, session } = await hub.workspace();
  const list = await session.call('createContactList', { body: { name: 'Attributes' } });
  const add = (...attributes: (Record<string, unknown> | undefined)[]) =>
    send(hub.url, 'POST', `/growth/marketing/lists/${list.id}/contacts`, {
      headers: { authorization: `Bearer ${jwt}` },
      body: {
        contacts: attributes.map((value, index) => ({ email: `C${index}@example.org`, attributes: value })),
      },
    });
  const keys = (prefix: string, length: number) =>
    Object.fromEntries(Array.from({ length }, (_, index) => [`${prefix}${index}`, index]));
  const refused = (path: string, sizes: string) => ({
    status: 400,
    body: {
      code: 'validation_failed',
      details: [{ path, message: expect.stringMatching(`^would have ${sizes} bytes of JSON`) as string }],
    },
  });
  const first = 'body.contacts[0].attributes';
  expect(await add({}, { a: 'x'.repeat(17_000) })).toMatchObject(
    refused('body.contacts[1].attributes', '1 keys in 170[0-9]{2}'),
  );
  expect(await add(keys('a', 51))).toMatchObject(refused(first, '51 keys in [0-9]+'));
  expect((await session.call('listContacts', { params: { id: list.id } })).data).toEqual([]);
  expect(await add({ ...keys('a', 30), long: 'x'.repeat(10_000) })).toMatchObject({ body: { added: 1 } });
  expect(await add(keys('b', 30))).toMatchObject(refused(first, '61 keys in [0-9]+'));
  expect(await add({ other: 'x'.repeat(10_000) })).toMatchObject(refused(first, '32 keys in 20[0-9]{3}'));
  expect(await add({ long: 'short', other: 'x'.repeat(10_000) })).toMatchObject({ body: { updated: 1 } });

  // A contact of an earlier version keeps its large attributes when other fields change.
  await setContactAttributes(hub.database, list.id, keys('a', 60));
  expect(await add(undefined)).toMatchObject({ body: { updated: 1 } });
});

test('a workflow without the entitlement is rejected on save and fails at run', async () => {
  const own = await hub.workspace();
  const steps = [
    { type: 'skill' as const, skillId: 'email.send', input: { to: ['a@example.org'], subject: 'S', text: 'T' } },
  ];
  const { id } = await own.api.call('createAutomationWorkflow', { body: { name: 'w', stepsJson: steps } });
  await hub
    .client('platform-admin-key-of-the-tests')
    .call('putEntitlements', { params: { tenantId: own.tenantId }, body: { business_email: false, marketing: false } });
  const headers = { 'x-api-key': own.key };
  expect(
    (await send(hub.url, 'POST', '/v1/automations/workflows', { headers, body: { name: 'x', stepsJson: steps } })).body,
  ).toMatchObject({ statusCode: 403, code: 'product_not_entitled', details: [{ path: 'stepsJson[0].skillId' }] });
  expect(
    (await send(hub.url, 'POST', `/v1/automations/workflows/${id}/run`, { headers, body: {} })).body,
  ).toMatchObject({ statusCode: 403, code: 'product_not_entitled' });
  const mailing = [
    {
      type: 'skill' as const,
      skillId: 'channel.deliver',
      input: { provider: 'email', to: 'a@example.org', text: 'T' },
    },
  ];
  expect(
    (await send(hub.url, 'POST', '/v1/automations/workflows', { headers, body: { name: 'x', stepsJson: mailing } }))
      .body,
  ).toMatchObject({ statusCode: 403, code: 'product_not_entitled', details: [{ path: 'stepsJson[0].provider' }] });
  await own.api.call('putAutomationChannel', {
    body: { provider: 'email', name: 'mail', config: { inboundSecret: 'sixteen-characters' } },
  });
  const hidden = await own.api.call('createAutomationWorkflow', {
    body: {
      name: 'h',
      stepsJson: [
        {
          type: 'skill',
          skillId: 'channel.deliver',
          input: { provider: '{{payload.p}}', to: 'a@example.org', text: 'T' },
        },
      ],
    },
  });
  const { runId } = startedRun(
    await own.api.call('runAutomationWorkflow', { params: { id: hidden.id }, body: { payload: { p: 'email' } } }),
  );
  expect(await settledRun(own.api, runId)).toMatchObject({
    status: 'failed',
    error: { code: 'product_not_entitled' },
  });
  expect(
    (await send(hub.url, 'GET', '/growth/marketing/lists', { headers: { authorization: `Bearer ${own.jwt}` } })).body,
  ).toMatchObject({ statusCode: 403, code: 'product_not_entitled' });
});

test('a mail channel has its own name and reply address, and never its own sender', async () => {
  const put = (config: Record<string, unknown>) =>
    send(hub.url, 'POST', '/v1/automations/channels', {
      headers: { 'x-api-key': workspace.key },
      body: { provider: 'email', name: 'mail', config: { inboundSecret: 'a secret of sixteen', ...config } },
    });
  expect((await put({ from: 'ceo@operator.example' })).body).toMatchObject({
    statusCode: 400,
    details: [{ message: 'has unknown fields: from' }],
  });
  for (const senderName of ['CEO <ceo@operator.example>', 'ceo@operator.example', 'a\u202Eb', 'a\r\nBcc: x'])
    expect((await put({ senderName })).status).toBe(400);
  const made = (await put({ senderName: 'Ann of Shop', replyTo: 'ann@shop.example' })).body as { id: string };
  mail.mails.length = 0;
  const { id } = await workspace.api.call('createAutomationWorkflow', {
    body: {
      name: 'mail',
      stepsJson: [{ type: 'deliver', provider: 'email', channelId: made.id, to: 'bob@example.org', text: 'hi' }],
    },
  });
  const { runId } = startedRun(await workspace.api.call('runAutomationWorkflow', { params: { id }, body: {} }));
  expect(await settledRun(workspace.api, runId)).toMatchObject({ status: 'succeeded' });
  expect(mail.mails).toMatchObject([
    { from: 'hub@example.org', raw: expect.stringMatching(/^From: Ann of Shop <hub@example\.org>\r$/m) as string },
  ]);
  expect(mail.mails[0]?.raw).toContain('Reply-To: ann@shop.example');
});
