import { useWords } from '../../app/language.tsx';
import { Page } from '../../ui/layout.tsx';

export function AgentsPage() {
  const { common } = useWords();
  return <Page title={common.agents}>{null}</Page>;
}
