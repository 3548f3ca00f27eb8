/** Of the launcher: what it does, and how many messages wait. */
interface LauncherWords {
  open: string;
  close: string;
  frame: string;
}

const words: Record<string, LauncherWords> = {
  en: { open: 'Open chat', close: 'Close chat', frame: 'Chat' },
  de: { open: 'Chat öffnen', close: 'Chat schließen', frame: 'Chat' },
  fr: { open: 'Ouvrir la discussion', close: 'Fermer la discussion', frame: 'Discussion' },
  es: { open: 'Abrir el chat', close: 'Cerrar el chat', frame: 'Chat' },
  ar: { open: 'فتح الدردشة', close: 'إغلاق الدردشة', frame: 'الدردشة' },
  ja: { open: 'チャットを開く', close: 'チャットを閉じる', frame: 'チャット' },
};

/** The words of the first language that the launcher speaks, else English. */
export function launcherWords(languages: readonly string[]): LauncherWords {
  for (const language of languages) {
    const found = words[language.slice(0, 2).toLowerCase()];
    if (found !== undefined) return found;
  }
  return words['en'] as LauncherWords;
}
