/** Texts of the launcher, and the text shown when the chat does not open. */
interface LauncherWords {
  open: string;
  close: string;
  frame: string;
  refused: string;
}

const words: Record<string, LauncherWords> = {
  en: { open: 'Open chat', close: 'Close chat', frame: 'Chat', refused: 'The chat can’t be opened here.' },
  de: {
    open: 'Chat öffnen',
    close: 'Chat schließen',
    frame: 'Chat',
    refused: 'Der Chat lässt sich hier nicht öffnen.',
  },
  fr: {
    open: 'Ouvrir la discussion',
    close: 'Fermer la discussion',
    frame: 'Discussion',
    refused: 'La discussion ne peut pas s’ouvrir ici.',
  },
  es: { open: 'Abrir el chat', close: 'Cerrar el chat', frame: 'Chat', refused: 'El chat no se puede abrir aquí.' },
  ar: { open: 'فتح الدردشة', close: 'إغلاق الدردشة', frame: 'الدردشة', refused: 'لا يمكن فتح الدردشة هنا.' },
  ja: {
    open: 'チャットを開く',
    close: 'チャットを閉じる',
    frame: 'チャット',
    refused: 'ここではチャットを開けません。',
  },
};

/** Returns the texts in the first supported language of the list, else in English. */
export function launcherWords(languages: readonly string[]): LauncherWords {
  for (const language of languages) {
    const found = words[language.slice(0, 2).toLowerCase()];
    if (found !== undefined) return found;
  }
  return words['en'] as LauncherWords;
}
