export { presentSuggestion, suggestionColumns, Suggestions } from './suggestions.ts';
export type { SuggestionRow } from './suggestions.ts';
