import { useWords } from '../../app/language.tsx';
import { Page } from '../../ui/layout.tsx';

export function NodesPage() {
  const { common } = useWords();
  return <Page title={common.nodes}>{null}</Page>;
}
