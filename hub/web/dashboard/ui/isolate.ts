import { useLanguage } from '../app/language.tsx';

/**
 * Returns a function that isolates a name within a text that is written from right to left, so that the direction of
 * the name does not reorder the words around it.
 */
export function useIsolate(): (text: string) => string {
  const { direction } = useLanguage();
  return (text) => (direction === 'rtl' ? `\u2068${text}\u2069` : text);
}
