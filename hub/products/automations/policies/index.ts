export { readPolicy, Policies } from './policies.ts';
