export { examineBindings } from './examine-bindings.ts';
export type { BindingCheck } from './examine-bindings.ts';
