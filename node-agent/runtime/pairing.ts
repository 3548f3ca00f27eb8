import { createHash, createHmac, randomBytes, timingSafeEqual } from 'node:crypto';
import type { z } from 'zod';
import type { ControlMethods } from '../../shared/companion/control.ts';
import { hubProofText } from '../../shared/contract/nodes/device.ts';
import { AuditLog } from './audit.ts';
import { CompanionError } from './data-folder.ts';
import type { DataFolder, Pairing } from './data-folder.ts';
import type { DeviceSecrets } from './device-secrets.ts';
import { describeDevice } from './facts.ts';
import { HubClient } from './hub-client.ts';
import { HubError } from './hub-error.ts';

const pairDeadlineMs = 20_000;
const unpairDeadlineMs = 10_000;

export type PairRequest = z.output<ControlMethods['pair']['params']>;

/** Normalises a hub's address. Plain http would expose the device secret on the network. @throws CompanionError */
export function hubAddress(hub: string, insecure: boolean): string {
  if (!URL.canParse(hub) || !['http:', 'https:'].includes(new URL(hub).protocol))
    throw new CompanionError(`--hub must be an http or https address (it is "${hub.slice(0, 100)}").`);
  const { protocol, hostname, origin, pathname, username, password } = new URL(hub);
  if (username !== '' || password !== '')
    throw new CompanionError('--hub must be an address without a user name and a password.');
  const isLocal = ['localhost', '127.0.0.1', '[::1]'].includes(hostname);
  if (protocol === 'http:' && !isLocal && !insecure)
    throw new CompanionError(
      `${hub} is not encrypted: anyone on the network could take over this machine. Use an https address, or --insecure on a network that you trust.`,
    );
  return `${origin}${pathname.replace(/(?<!\/)\/+$/, '')}`;
}

/**
 * Pairs this machine with a hub by a single-use code.
 * @throws CompanionError or HubError that says why it failed. Nothing changed on this machine then.
 */
export async function pair(
  folder: DataFolder,
  secrets: DeviceSecrets,
  request: PairRequest,
  audit = new AuditLog(folder.audit),
): Promise<{ nodeId: string; hub: string }> {
  const hub = hubAddress(request.hub, request.insecure);
  const paired = request.force ? readablePairing(folder) : folder.readPairing();
  if (paired !== null && !request.force)
    throw new CompanionError(`This machine is paired with ${paired.hub} already; unpair it first, or use --force.`);
  secrets.assertUsable(request.secretInFile);
  const { body } = await new HubClient(hub, null).call(
    'claimAutomationNode',
    { body: { pairingCode: request.code, device: describeDevice(folder.settingsInForce(), request.name) } },
    { signal: AbortSignal.timeout(pairDeadlineMs), timeoutMs: pairDeadlineMs },
  );
  const identity = {
    nodeId: body.nodeId,
    deviceSecret: body.deviceSecret,
    hub,
    name: request.name,
    pairedAt: new Date().toISOString(),
  };
  await secrets.keep(folder, identity, request.secretInFile);
  const replacing = paired === null ? '' : `, in the place of ${paired.hub} as node ${paired.nodeId}`;
  audit.note('owner.change', `pair with ${hub} as node ${body.nodeId}${replacing}`, {
    pairing: { hub, nodeId: body.nodeId },
  });
  folder.settingsStore?.trustPairing();
  return { nodeId: body.nodeId, hub };
}

/**
 * Verifies that the hub of this machine answers at another address, without sending the device secret there.
 * @returns the normalised address. @throws CompanionError or HubError that says why the verification failed.
 */
export async function proveHub(
  folder: DataFolder,
  secrets: DeviceSecrets,
  request: { hub: string; insecure: boolean },
): Promise<string> {
  const hub = hubAddress(request.hub, request.insecure);
  const pairing = folder.readPairing();
  if (pairing === null)
    throw new CompanionError('This machine is not paired; pair it with: outrigger-companion pair CODE --hub URL');
  const signal = AbortSignal.timeout(pairDeadlineMs);
  const { nodeId, deviceSecret } = await secrets.open(folder, pairing, signal);
  const challenge = { hub, nonce: randomBytes(32).toString('hex') };
  const { body } = await new HubClient(hub, null).call(
    'proveAutomationHub',
    { params: { id: nodeId }, body: challenge },
    { signal, timeoutMs: pairDeadlineMs },
  );
  const key = createHash('sha256').update(deviceSecret).digest();
  const expected = createHmac('sha256', key).update(hubProofText(nodeId, challenge)).digest();
  const given = Buffer.from(body.proof, 'hex');
  if (given.length !== expected.length || !timingSafeEqual(given, expected))
    throw new CompanionError(
      `${hub} is not the hub that this machine is paired with, so nothing was changed. To leave the old hub, pair with: outrigger-companion pair CODE --force --hub ${hub}`,
    );
  return hub;
}

/** Stores another address of the hub, which `proveHub` verified. */
export function keepHubAddress(folder: DataFolder, hub: string, audit = new AuditLog(folder.audit)): void {
  const pairing = folder.readPairing();
  if (pairing === null) throw new CompanionError('This machine is not paired any more.');
  folder.writePairing({ ...pairing, hub });
  const summary = `hub set ${hub}, in the place of ${pairing.hub}`;
  const { nodeId } = pairing;
  // A pairing that the log did not record stays unrecorded at another address.
  if (folder.pairingChange(pairing) !== null) audit.note('owner.change', summary);
  else audit.note('owner.change', summary, { pairing: { hub, nodeId } });
}

/** Removes the pairing, after an attempt to inform the hub. */
export async function unpair(
  folder: DataFolder,
  secrets: DeviceSecrets,
  audit = new AuditLog(folder.audit),
): Promise<{ nodeId: string | null; hubKnows: boolean }> {
  const pairing = readablePairing(folder);
  if (pairing === null) {
    folder.removePairing();
    return { nodeId: null, hubKnows: true };
  }
  let hubKnows = false;
  try {
    const { hub, nodeId, deviceSecret } = await secrets.open(folder, pairing, AbortSignal.timeout(unpairDeadlineMs));
    await new HubClient(hub, deviceSecret).call(
      'unpairAutomationNode',
      { params: { id: nodeId } },
      { signal: AbortSignal.timeout(unpairDeadlineMs), timeoutMs: unpairDeadlineMs },
    );
    hubKnows = true;
  } catch (error) {
    // A hub that does not know this machine any more needs no information.
    hubKnows = error instanceof HubError && error.isRevocation;
  }
  folder.removePairing();
  audit.note(
    'owner.change',
    `unpair from ${pairing.hub} as node ${pairing.nodeId}${hubKnows ? '' : ', which could not be informed'}`,
    { pairing: null },
  );
  folder.settingsStore?.trustPairing();
  return { nodeId: pairing.nodeId, hubKnows };
}

/** The pairing; null when there is none or it is broken. */
function readablePairing(folder: DataFolder): Pairing | null {
  try {
    return folder.readPairing();
  } catch {
    return null;
  }
}
