import { readFileSync, writeFileSync } from 'node:fs';
import { createServer } from 'node:http';
import type { AddressInfo } from 'node:net';
import { join } from 'node:path';
import { describe, expect, test } from 'vitest';
import { startedRun } from '../../shared/contract/automations/workflows.ts';
import { startCompanion } from '../fixtures/companion.ts';
import { startHub } from '../fixtures/hub.ts';
import type { TestHub, TestWorkspace } from '../fixtures/hub.ts';
import { send } from '../fixtures/requests.ts';
import { settledRun } from '../fixtures/settled-run.ts';
import { until } from '../fixtures/until.ts';

/** A recorded message between a companion and a hub of version 0.1.0. */

interface Message {
  method: string;
  path: string;
  status: number;
  body?: Record<string, unknown>;
  answer: Record<string, unknown>;
}
interface Command {
  id: string;
  type: string;
  input: Record<string, unknown>;
}

const recorded = JSON.parse(readFileSync('test/fixtures/companion-0.1.0.json', 'utf8')) as Message[];
const isPoll = ({ path }: { path: string }) => path.includes('/commands?');
const accepted = recorded.filter(({ status }) => status === 200);
const claim = accepted.find(({ path }) => path.endsWith('/claim')) as Message;
const heartbeats = accepted.filter(({ path }) => path.endsWith('/heartbeat'));
const exchanges = accepted.filter(isPoll).flatMap((poll) =>
  (poll.answer['commands'] as Command[]).map((command) => ({
    poll,
    command,
    result: accepted.find(({ path }) => path.endsWith(`/${command.id}/result`)) as Message,
  })),
);

describe('a hub', () => {
  async function converse(
    hub: TestHub,
    workspace: TestWorkspace,
    change: (body: Record<string, unknown>) => Record<string, unknown>,
  ): Promise<string[]> {
    const served: string[] = [];
    const { nodeId, pairingCode } = await workspace.api.call('createAutomationNode', {
      body: { allowBrowser: true, allowSystem: true },
    });
    const claimed = await send(hub.url, 'POST', claim.path, {
      body: { ...change(claim.body as Record<string, unknown>), pairingCode },
    });
    expect(claimed.status).toBe(200);
    const headers = { authorization: `Bearer ${String(claimed.body['deviceSecret'])}` };
    for (const { path, body } of heartbeats) {
      const beat = await send(hub.url, 'POST', path.replace(/nodes\/[^/]+/, `nodes/${nodeId}`), {
        headers,
        body: change({ ...body, running: [] }),
      });
      expect(beat.body).toMatchObject({ ok: true, hub: { pollSeconds: expect.any(Number) as number } });
    }
    for (const { poll, command, result } of exchanges) {
      const { id } = await workspace.api.call('createAutomationWorkflow', {
        body: {
          name: 'x',
          stepsJson: [{ type: 'skill', skillId: command.type, input: { nodeId, ...command.input } as never }],
        },
      });
      const { runId } = startedRun(await workspace.api.call('runAutomationWorkflow', { params: { id } }));
      const read = () => settledRun(workspace.api, runId);
      if (command.type === 'system.run') {
        await read();
        const { data } = await workspace.api.call('listAutomationApprovals', { query: { status: 'pending', runId } });
        await workspace.session.call('decideAutomationApproval', {
          params: { id: data[0]?.id as string },
          body: { decision: 'approved' },
        });
      }
      const query = poll.path
        .split('?')[1]
        ?.replace(/wait=\d+/, 'wait=20')
        .replace(/running=.*$/, 'running=');
      const polled = await send(hub.url, 'GET', `/v1/automations/nodes/${nodeId}/commands?${query}`, { headers });
      const [polledCommand] = polled.body['commands'] as Command[];
      expect(polledCommand).toMatchObject({ type: command.type, input: command.input });
      const answer = await send(
        hub.url,
        'POST',
        `/v1/automations/nodes/${nodeId}/commands/${polledCommand?.id}/result`,
        {
          headers,
          body: change(result.body as Record<string, unknown>),
        },
      );
      expect(answer.body).toMatchObject({ status: result.answer['status'], recorded: true });
      expect((await read()).status).toBe(result.answer['status']);
      served.push(command.type);
    }
    return served;
  }

  test('accepts every message of the last released companion', async () => {
    await using hub = await startHub({ RATE_LIMIT_PER_MINUTE: '100000' });
    expect(await converse(hub, await hub.workspace(), (body) => body)).toEqual(
      expect.arrayContaining(['node.ping', 'node.files_read', 'system.run', 'browser.navigate', 'browser.screenshot']),
    );
  });

  test('accepts the messages of a newer companion and ignores unknown fields', async () => {
    await using hub = await startHub({ RATE_LIMIT_PER_MINUTE: '100000' });
    const extended = (value: unknown, path: string): unknown => {
      if (Array.isArray(value)) return value.map((item) => extended(item, path));
      if (typeof value !== 'object' || value === null) return value;
      const entries = Object.entries(value).map(([key, item]) => [
        key,
        key === 'capabilities' ? [...(item as string[]), 'node.levitate'] : extended(item, `${path}.${key}`),
      ]);
      return { ...Object.fromEntries(entries), ofTheFuture: { some: ['thing'] } };
    };
    expect(
      await converse(hub, await hub.workspace(), (body) => extended(body, '') as Record<string, unknown>),
    ).toHaveLength(exchanges.length);
  });
});

describe('a companion', () => {
  test('works with a hub of the last release, which refuses unknown fields', async () => {
    const known = exchanges.filter(({ command }) => command.type.startsWith('node.'));
    const unknown: Command = {
      ...(exchanges[0]?.command as Command),
      id: '01890000-0000-7000-8000-00000000000f',
      type: 'node.levitate',
    };
    const waiting = [...known.map(({ command }) => command), unknown];
    const results = new Map<string, Record<string, unknown>>();
    const refusal = (part: (message: Message) => boolean) =>
      recorded.find((message) => message.status === 400 && part(message)) as Message;
    const server = createServer((request, response) => {
      const chunks: Buffer[] = [];
      request.on('data', (chunk: Buffer) => chunks.push(chunk));
      request.on('end', () => {
        const { pathname, searchParams } = new URL(request.url ?? '/', 'http://hub');
        const body =
          chunks.length === 0 ? {} : (JSON.parse(Buffer.concat(chunks).toString()) as Record<string, unknown>);
        const reply = (status: number, answer: unknown) =>
          response.writeHead(status, { 'content-type': 'application/json' }).end(JSON.stringify(answer));
        const isKnown = (names: Iterable<string>, allowed: string[]) =>
          [...names].every((name) => allowed.includes(name));
        if (pathname.endsWith('/claim')) reply(200, claim.answer);
        else if (pathname.endsWith('/heartbeat')) {
          if (isKnown(Object.keys(body), ['facts', 'device', 'paused', 'running'])) reply(200, heartbeats[0]?.answer);
          else reply(400, refusal(({ path }) => path.endsWith('/heartbeat')).answer);
        } else if (pathname.endsWith('/commands')) {
          if (isKnown(searchParams.keys(), ['wait', 'max', 'running']))
            reply(200, { commands: waiting.splice(0, Number(searchParams.get('max'))), withdrawn: [] });
          else reply(400, refusal(isPoll).answer);
        } else if (pathname.endsWith('/channel')) {
          reply(404, {
            statusCode: 404,
            error: 'Not Found',
            message: `There is nothing at ${pathname}; /docs lists every operation.`,
            requestId: 'r',
            code: 'not_found',
          });
        } else {
          const id = pathname.split('/').at(-2) as string;
          if (isKnown(Object.keys(body), ['status', 'output', 'error', 'artifacts'])) results.set(id, body);
          reply(200, { id, status: body['status'], recorded: true });
        }
      });
    });
    await new Promise<void>((done) => server.listen(0, '127.0.0.1', done));
    const url = `http://127.0.0.1:${(server.address() as AddressInfo).port}`;
    const pairing = { api: { call: async () => ({ nodeId: claim.answer['nodeId'], pairingCode: 'PAIR-CODE' }) } };
    await using companion = await startCompanion({ url } as TestHub, pairing as unknown as TestWorkspace, {
      start: false,
    });
    writeFileSync(join(companion.shared, 'a.txt'), 'hello harbour');
    await companion.start();
    await until(
      () => results.size === known.length + 1,
      () => `not every command was answered: ${companion.log()}`,
    );
    for (const { command, result } of known) {
      const { output, error, ...rest } = result.body ?? {};
      const answered = results.get(command.id);
      expect(answered).toMatchObject(rest);
      // Error codes are stable, but their messages may change.
      if (error !== undefined) expect(answered).toMatchObject({ error: { code: (error as { code: string }).code } });
      // File times and the speed of the machine differ from the recording.
      if (command.type !== 'node.files_list') expect(answered?.['output']).toEqual(output);
    }
    expect(results.get(unknown.id)).toMatchObject({
      status: 'failed',
      error: { code: 'unknown_command', message: expect.stringContaining('node.levitate') as string },
    });
    await companion.stop();
    server.closeAllConnections();
    server.close();
  });
});
