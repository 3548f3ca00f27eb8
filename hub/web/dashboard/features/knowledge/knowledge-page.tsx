import { useWords } from '../../app/language.tsx';
import { Page } from '../../ui/layout.tsx';

export function KnowledgePage() {
  const { common } = useWords();
  return <Page title={common.knowledge}>{null}</Page>;
}
