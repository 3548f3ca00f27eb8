export { ArtifactQuota, ArtifactUploads } from './artifacts/index.ts';
export { NodeCommands } from './commands/index.ts';
export { nodePort } from './engine-port.ts';
export { createNodes } from './product.ts';
export type { NodesProduct } from './product.ts';
export type { Nodes } from './service.ts';
export { isOnlineText } from './store.ts';
