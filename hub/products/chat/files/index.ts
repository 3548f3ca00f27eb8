export { reasonOfUnsupported } from './damaged.ts';
export { FileBlobs } from './file-blobs.ts';
export { foldFileRoom } from './file-room.ts';
export { IncomingFiles } from './incoming.ts';
export { FileJudge } from './judge.ts';
export { chatFileRoutes } from './routes.ts';
export { ChatFiles } from './service.ts';
