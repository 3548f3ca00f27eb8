import { foldText } from './words.ts';

/** Frequent short words by language. A word that occurs in several languages weighs less. */
const stopWords: Record<string, string> = {
  da: 'og ikke hvordan hvad jeg det er en til af hvor med kan jeg har min mit hvornår eller',
  de: 'der die das und ist ich ein eine einen nicht wie was wo wann warum wer mein meine meinen für mit auf zu den dem des sie es gibt kann kein keine von bei wird sind haben habe wurde oder welche ins im',
  en: 'the is are i my you your how what where when why who do does did can could will would not of to and for with it this that have has be been at from was we our am an or which get',
  es: 'el la los las un una es mi mis cómo como qué dónde cuándo por para con no se puedo quiero del al y o hay está tengo cuánto necesito son tiene mi',
  fi: 'ja on ei minun miten mikä missä milloin voinko olen se että tai kuinka voi ovat',
  fr: 'le la les un une des du de est mon ma mes je vous votre comment où quand quel quelle quels pourquoi puis pas et pour avec dans sur ai il elle qui que nous sont ou ce',
  hu: 'a az és nem hogyan mi hol mikor van egy hogy meg kell lehet vagy',
  it: 'il lo la gli le un una è mio mia come cosa dove quando perché non per con del della di che posso ho sono si quanto quale ci vostri miei',
  nl: 'de het een is ik mijn hoe wat waar wanneer waarom niet en van voor met op te kan ik heb zijn er wordt naar bij of welke jullie wil',
  no: 'og ikke hvordan hva jeg det er en til av hvor med kan har min mitt når eller hvorfor',
  pl: 'jak gdzie kiedy nie jest się na w z do i czy mój moje mogę co to dlaczego dla mam ile',
  pt: 'o a os as um uma é meu minha como que onde quando por para com não se eu do da dos das quais são posso quero você vocês meus está qual',
  ro: 'și nu este cum unde când care pentru cu un o mea meu pot am sunt de la ce',
  sv: 'och inte hur vad jag det är en ett till av var med kan har min mitt när eller varför',
  tr: 've bir nasıl ne nerede zaman mi mı için ile bu var değil benim olarak kaç neden',
};
const scripts: readonly [RegExp, string][] = [
  [/\p{Script=Arabic}/u, 'ar'],
  [/\p{Script=Hiragana}|\p{Script=Katakana}/u, 'ja'],
  [/\p{Script=Han}/u, 'zh'],
  [/\p{Script=Hangul}/u, 'ko'],
  [/\p{Script=Thai}/u, 'th'],
  [/\p{Script=Greek}/u, 'el'],
  [/\p{Script=Cyrillic}/u, 'ru'],
  [/\p{Script=Devanagari}/u, 'hi'],
];

const languagesByWord = new Map<string, Set<string>>();
for (const [language, words] of Object.entries(stopWords))
  for (const word of words.split(' ').flatMap((each) => [each, foldText(each)])) {
    const known = languagesByWord.get(word) ?? new Set();
    languagesByWord.set(word, known.add(language));
  }

/**
 * Guesses the language of a text by its script and its frequent short words. @returns null when the text has neither.
 */
export function guessLanguage(text: string): string | null {
  for (const [script, language] of scripts) if (script.test(text)) return language;
  const counts = new Map<string, number>();
  for (const [word] of text.toLowerCase().matchAll(/[\p{L}\p{M}]+/gu))
    for (const language of languagesByWord.get(word) ?? [])
      counts.set(language, (counts.get(language) ?? 0) + 1 / (languagesByWord.get(word) as Set<string>).size);
  let best: string | null = null;
  for (const [language, count] of counts) if (count > (counts.get(best ?? '') ?? 0)) best = language;
  return best;
}
