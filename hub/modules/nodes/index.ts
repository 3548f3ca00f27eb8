export { NodeCommands } from './commands.ts';
export { Devices } from './devices.ts';
export { Nodes } from './service.ts';
export { Artifacts } from './artifacts.ts';
export { assertNodeUsable } from './store.ts';
export { ArtifactRoom, maxCommandBytes } from './artifact-room.ts';
export { CommandResults } from './results.ts';
export { ArtifactUploads } from './uploads.ts';
export type { UploadedFile } from './results.ts';
