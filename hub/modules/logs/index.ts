export { recordMessage } from './record.ts';
export { Logs, presentLog } from './service.ts';
