import { useWords } from '../../app/language.tsx';
import { Page } from '../../ui/layout.tsx';

export function RunsPage() {
  const { common } = useWords();
  return <Page title={common.runs}>{null}</Page>;
}
