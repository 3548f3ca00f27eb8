import { useWords } from '../../app/language.tsx';
import { Page } from '../../ui/layout.tsx';

export function NodePage() {
  const { common } = useWords();
  return <Page title={common.nodes}>{null}</Page>;
}
