export { examineBindings } from './examine-bindings.ts';
