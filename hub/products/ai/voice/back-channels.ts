import { normalizeText } from '../../../platform/normalize.ts';

/** What listeners say so that the other goes on: in several languages, as speech-to-text spells it. */
const backChannelWords = new Set(
  (
    'mhm mmhm mhmm mm mmm hm hmm hmmm uhhuh aha ah oh okay ok okey okej oke okee k yeah yep yup yes right sure ' +
    'ja jaja joa jo genau klar gut achso stimmt verstehe richtig jep ' +
    'oui ouais bien accord voilà ' +
    'sí si vale claro ya bueno ajá dale ' +
    'certo bene esatto già ' +
    'sim tá certo pois isso ' +
    'да ага угу так ладно понятно хорошо точно ' +
    'tak dobrze jasne ' +
    'jo jaha juu joo niin kyllä nå jaså precis just ' +
    'evet tamam hıhı peki ' +
    'हाँ हां जी अच्छा ठीक ' +
    'نعم أيوه طيب تمام آه ' +
    'כן טוב בסדר ' +
    'ναι εντάξει μάλιστα ' +
    'vâng dạ ừ ' +
    'ครับ ค่ะ อืม ใช่ ' +
    '네 예 응 어 그래 그렇군요 알겠어요'
  ).split(' '),
);
const backChannelPhrases = new Set([
  'i see',
  'got it',
  'all right',
  'uh huh',
  'mm hmm',
  'mm hm',
  'm hm',
  'of course',
  'alles klar',
  'ach so',
  'ah ja',
  'ist gut',
  "d'accord",
  'je vois',
  'bien sûr',
  'de acuerdo',
  'ya veo',
  'va bene',
  'ho capito',
  'tudo bem',
  'está bem',
  'ठीक है',
]);
/** Scripts without spaces: one or several of these. */
const unspacedBackChannels =
  /^(?:うん|ええ|はい|へえ|そう|そうですね|なるほど|ふんふん|嗯|哦|对|對|好的|好|是的|是|行)+$/u;
/** No more words are said in passing. */
const maxWords = 4;

/** Whether a listener said only that they listen: nothing that asks for an answer or for silence. */
export function isBackChannel(text: string): boolean {
  const spoken = normalizeText(text, 'NFC').toLocaleLowerCase('en');
  const words = spoken.match(/[\p{L}\p{M}\p{N}'’]+/gu)?.map((word) => word.replaceAll('’', "'")) ?? [];
  if (words.length === 0 || unspacedBackChannels.test(words.join(''))) return true;
  if (words.length > maxWords) return false;
  return (
    backChannelPhrases.has(words.join(' ')) ||
    words.every((word) => backChannelWords.has(word) || backChannelPhrases.has(word))
  );
}
