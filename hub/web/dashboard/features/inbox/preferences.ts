import { Store } from '../../../../../shared/web/store.ts';

const enterKey = 'outrigger.inbox.enter-sends';

/** Choices of this browser. */
export const preferences = new Store<{ enterSends: boolean }>({
  enterSends: localStorage.getItem(enterKey) === 'true',
});

export function storeEnterSends(enterSends: boolean): void {
  localStorage.setItem(enterKey, String(enterSends));
  preferences.set({ enterSends });
}
