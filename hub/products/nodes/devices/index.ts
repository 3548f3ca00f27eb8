export { DeviceSecrets } from './device-secrets.ts';
export { Devices } from './devices.ts';
export { NodeHistory } from './history.ts';
export { newPairingCode, pairingCodeHash } from './pairing-code.ts';
