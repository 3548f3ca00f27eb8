export { Insight } from './insight.ts';
