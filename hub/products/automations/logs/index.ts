export { messageRecords } from './record.ts';
export type { MessageRecord } from './record.ts';
export { Logs } from './service.ts';
