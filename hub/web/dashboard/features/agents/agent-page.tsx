import { useWords } from '../../app/language.tsx';
import { Page } from '../../ui/layout.tsx';

export function AgentPage() {
  const { common } = useWords();
  return <Page title={common.agents}>{null}</Page>;
}
