import { Store } from '../../../../../shared/web/store.ts';

/** Workflows that the user deleted and that lists no longer show, although the deletion can still be undone. */
export const deletedWorkflows = new Store<{ ids: ReadonlySet<string> }>({ ids: new Set() });

export function setDeleted(id: string, isDeleted: boolean): void {
  const ids = new Set(deletedWorkflows.state.ids);
  if (isDeleted) ids.add(id);
  else ids.delete(id);
  deletedWorkflows.set({ ids });
}
