import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import { expect, test } from 'vitest';
import { startedRun } from '../../shared/contract/automations/workflows.ts';
import { startCompanion } from '../fixtures/companion.ts';
import { startHub } from '../fixtures/hub.ts';
import { startProxy } from '../fixtures/proxy.ts';
import { settledRun } from '../fixtures/settled-run.ts';

test('hub set moves the node to the new address of its hub and refuses other servers without sending the secret', async () => {
  // The future address of the hub. The server behind it is set below.
  await using moved = await startProxy('http://127.0.0.1:1');
  await using hub = await startHub({ PUBLIC_URL: moved.url, RATE_LIMIT_PER_MINUTE: '100000' });
  moved.target = hub.url;
  const workspace = await hub.workspace();
  await using companion = await startCompanion(hub, workspace, { run: ['--no-channel'] });
  const pairing = () => JSON.parse(readFileSync(join(companion.home, 'identity.json'), 'utf8')) as { hub: string };
  expect(pairing().hub).toBe(hub.url);

  // Forwards everything to the hub, as an attacker in the middle would.
  await using relay = await startProxy(hub.url);
  const refused = await companion.cli('hub', 'set', relay.url);
  expect(refused).toMatchObject({ code: 1, stderr: expect.stringContaining('set PUBLIC_URL of the hub') as string });
  await using foreign = await startHub({});
  const unknown = await companion.cli('hub', 'set', foreign.url);
  expect(unknown).toMatchObject({ code: 1, stderr: expect.stringContaining('There is no node') as string });
  await using impostor = await startProxy(hub.url);
  impostor.fault = () => ({ answer: { status: 200, body: JSON.stringify({ proof: 'a'.repeat(64) }) } });
  const refusedImpostor = await companion.cli('hub', 'set', impostor.url);
  expect(refusedImpostor).toMatchObject({
    code: 1,
    stderr: expect.stringContaining('is not the hub that this machine is paired with') as string,
  });
  const proofPath = `/v1/automations/nodes/${companion.nodeId}/hub-proof`;
  for (const { requests } of [relay, impostor]) expect(requests).toEqual([{ method: 'POST', path: proofPath }]);
  expect(pairing().hub).toBe(hub.url);

  expect(await companion.cli('hub', 'set', moved.url)).toMatchObject({
    code: 0,
    stdout: `This machine is node ${companion.nodeId} of ${moved.url} now.\n`,
  });
  expect(pairing().hub).toBe(moved.url);
  await expect.poll(() => moved.requests.some(({ path }) => path.includes('/commands?'))).toBe(true);
  const { id } = await workspace.api.call('createAutomationWorkflow', {
    body: {
      name: 'moved',
      stepsJson: [{ type: 'skill', skillId: 'node.ping', input: { nodeId: companion.nodeId } }],
    },
  });
  const { runId } = startedRun(await workspace.api.call('runAutomationWorkflow', { params: { id } }));
  expect(await settledRun(workspace.api, runId)).toMatchObject({ status: 'succeeded' });
  expect((await workspace.api.call('listAutomationNodes', {})).data).toMatchObject([
    { id: companion.nodeId, status: 'online' },
  ]);

  await companion.stop();
  expect(await companion.cli('hub', 'set', moved.url)).toMatchObject({ code: 0 });
  const { stdout } = await companion.cli('audit');
  expect(stdout).toContain(`hub set ${moved.url}`);
});
