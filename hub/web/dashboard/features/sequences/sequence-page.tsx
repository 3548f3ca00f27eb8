import { useWords } from '../../app/language.tsx';
import { Page } from '../../ui/layout.tsx';

export function SequencePage() {
  const { common } = useWords();
  return <Page title={common.sequences}>{null}</Page>;
}
