export { ArtifactRoom } from './artifact-room.ts';
export { NodeCommands } from './commands.ts';
export { nodePort } from './engine-port.ts';
export { createNodes } from './product.ts';
export type { NodesProduct } from './product.ts';
export { Reachability } from './reachability.ts';
export type { Nodes } from './service.ts';
export { isOnlineText } from './store.ts';
export { ArtifactUploads } from './uploads.ts';
