import { useWords } from '../../app/language.tsx';
import { Page } from '../../ui/layout.tsx';

export function WorkflowsPage() {
  const { common } = useWords();
  return <Page title={common.workflows}>{null}</Page>;
}
