import { afterAll, beforeAll, expect, test } from 'vitest';
import { startHub } from '../fixtures/hub.ts';
import type { TestHub, TestWorkspace } from '../fixtures/hub.ts';

let hub: TestHub;
beforeAll(async () => {
  hub = await startHub();
});
afterAll(() => hub[Symbol.asyncDispose]());

const info = { name: 'd', platform: 'linux', arch: 'x64', osVersion: '1', appVersion: '0.2.0', capabilities: [] };
const camera = {
  isAllowed: true,
  until: '2026-12-01T08:00:00.000Z',
  asksOwner: false,
  system: {
    state: 'missing' as const,
    detail: 'Taking a picture needs ffmpeg, which is not installed.',
    remedy: { text: 'Install ffmpeg.', command: 'sudo apt install ffmpeg' },
  },
};

async function pair({ api }: TestWorkspace) {
  const { nodeId, pairingCode } = await api.call('createAutomationNode', { body: {} });
  const { deviceSecret } = await hub.client('').call('claimAutomationNode', { body: { pairingCode, device: info } });
  const device = hub.client(deviceSecret);
  const params = { id: nodeId };
  return {
    params,
    send: (powers: object | undefined) =>
      device.call('heartbeatAutomationNode', {
        params,
        body: { device: powers === undefined ? info : { ...info, powers } },
      }),
    read: async () => (await api.call('getAutomationNode', { params })).device?.powers,
  };
}

test('a node shows the switch of the owner and the answer of the system for each power that its companion reports', async () => {
  const workspace = await hub.workspace();
  const node = await pair(workspace);
  expect(await node.read()).toBeUndefined();
  // A later companion reports a power that this hub does not know.
  await node.send({ camera, telepathy: camera });
  expect(await node.read()).toEqual({ camera });
  expect((await workspace.api.call('listAutomationNodes')).data[0]?.device?.powers).toEqual({ camera });
});

test('after a downgrade of the companion the powers of its node are unknown again', async () => {
  const node = await pair(await hub.workspace());
  await node.send({ camera });
  await node.send(undefined);
  expect(await node.read()).toBeUndefined();
});

test('the recorded facts of a node do not grow with the states of its powers', async () => {
  const workspace = await hub.workspace();
  const node = await pair(workspace);
  await node.send({ camera });
  await node.send({ camera: { ...camera, isAllowed: false, until: null } });
  const { data } = await workspace.api.call('listAutomationNodeFacts', { params: node.params });
  expect(data.map(({ facts }) => facts.device)).toEqual([info]);
});

test('powers of another form are refused with their path, and other workspaces do not see them', async () => {
  const node = await pair(await hub.workspace());
  await expect(node.send({ camera: { ...camera, isAllowed: 'yes' } })).rejects.toMatchObject({
    status: 400,
    details: [{ path: 'body.device.powers.camera.isAllowed' }],
  });
  const other = await hub.workspace();
  await expect(other.api.call('getAutomationNode', { params: node.params })).rejects.toMatchObject({ status: 404 });
});
