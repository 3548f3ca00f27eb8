export { Search } from './search.ts';
