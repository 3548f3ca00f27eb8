export { reasonOfUnsupported } from './damaged.ts';
export { FileBlobs } from './file-blobs.ts';
export { foldFileUsage } from './file-usage.ts';
export { IncomingFiles } from './incoming.ts';
export { FileScanner } from './file-scanner.ts';
export { chatFileRoutes } from './routes.ts';
export { ChatFiles } from './service.ts';
