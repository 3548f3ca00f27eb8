/** The companion, as users call it. */
export const companionCommand = 'npx outrigger-companion';

/** What the owner of the machine allows together with the pairing. */
export const pairingPowers = ['screen', 'system', 'browser'] as const;
export type PairingPower = (typeof pairingPowers)[number];

const localHosts = ['localhost', '127.0.0.1', '[::1]'];

/** The address of the hub for the machine, which the pairing link contains. */
export const hubOf = (pairingUri: string): string => new URL(pairingUri).searchParams.get('hub') ?? location.origin;

/** Whether the companion accepts the address only with `--insecure`. */
export function isInsecure(hub: string): boolean {
  const { protocol, hostname } = new URL(hub);
  return protocol === 'http:' && !localHosts.includes(hostname);
}

/** One line that pairs a machine, allows the powers and starts the companion. */
export function pairingLine(code: string, hub: string, powers: readonly PairingPower[]): string {
  return [
    `pair ${code} --hub ${hub}${isInsecure(hub) ? ' --insecure' : ''}`,
    ...pairingPowers.filter((power) => powers.includes(power)).map((power) => `allow ${power}`),
    'run',
  ]
    .map((command) => `${companionCommand} ${command}`)
    .join(' && ');
}
