export { membersAmong, readErrorWorkflowAuthor, readPolicy, Policies } from './policies.ts';
