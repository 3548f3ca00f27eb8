import { useWords } from '../../app/language.tsx';
import { Page } from '../../ui/layout.tsx';

/** What needs a person, and what happened. */
export function HomePage() {
  const { common } = useWords();
  return <Page title={common.home}>{null}</Page>;
}
