export { NodeCommands } from './commands.ts';
export { Devices } from './devices.ts';
export { Nodes } from './service.ts';
export { Artifacts } from './artifacts.ts';
export { assertNodeUsable } from './store.ts';
export { CommandResults, maxArtifactBytes } from './results.ts';
export type { UploadedFile } from './results.ts';
