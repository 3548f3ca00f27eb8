export { recordMessage } from './record.ts';
export { Logs } from './service.ts';
