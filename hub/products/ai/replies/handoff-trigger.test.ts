import { expect, test } from 'vitest';
import { findKeyword, findPersonRequest } from './handoff-trigger.ts';

test.each([
  ['en', 'Can I please talk to a real person?'],
  ['en', 'AGENT PLEASE'],
  ['en', 'Stop. I want to speak with someone real.'],
  ['de', 'Ich möchte bitte mit einem Menschen sprechen.'],
  ['de', 'Verbinden Sie mich mit einem Mitarbeiter'],
  ['fr', 'Je voudrais parler à un conseiller, s’il vous plaît'],
  ['fr', 'PARLER À QUELQU’UN'],
  ['es', '¿Puedo hablar con una persona?'],
  ['ar', 'أريد التحدث مع موظف من فضلكم'],
  ['ja', 'すみません、人間と話したいです。'],
  ['ja', 'オペレーターにつないでください'],
  ['zh', '我不要机器人，转人工！'],
  ['ru', 'Соедините меня с оператором'],
  ['pt', 'quero falar com um atendente'],
  ['ko', '상담원 연결해 주세요'],
  ['tr', 'GERÇEK BİR KİŞİYLE GÖRÜŞMEK İSTİYORUM'],
])('a request for a person is detected: %s, %s', (language, text) => {
  expect(findPersonRequest(text)).toBe(language);
});

test.each([
  'How many people fit into a boat?',
  'Is a person of 90 kg too heavy for the small one?',
  'What does the travel insurance cost?',
  'Muss jeder Mensch an Bord eine Weste tragen?',
  'Combien de personnes par bateau ?',
  '人気のあるボートはどれですか',
  '这艘船可以坐几个人？',
  'كم عدد الأشخاص في القارب؟',
  '',
])('a text that does not ask for a person is left to the model: %s', (text) => {
  expect(findPersonRequest(text)).toBeNull();
});

test.each([
  ['我想申请退款，谢谢', '退款', true],
  ['京都に住んでいます', '京都', true],
  // The word for Tokyo Metropolis contains the characters of Kyoto, but not the word Kyoto.
  ['東京都に住んでいます', '京都', false],
  ['أريد استرداد أموالي', 'استرداد', true],
  ['أريد استردادها', 'استرداد', false],
  ['ขอคืนเงินครับ', 'คืนเงิน', true],
  ['My REFUND, please', 'refund', true],
  ['They refunded me', 'refund', false],
  ['in der HAUPTSTRASSE', 'Hauptstraße', true],
  ['ΠΟΥ ΕΙΝΑΙ Η ΟΔΟΣ', 'οδος', true],
  ['İPTAL istiyorum', 'iptal', true],
  ['ｒｅｆｕｎｄ', 'refund', true],
  ['give me my money  back now', 'Money back', true],
  ['money, back', 'money back', false],
  ['c++ is broken', 'c++', true],
  ['anything', '', false],
])('the text %s contains the keyword %s as whole words: %s', (text, keyword, has) => {
  expect(findKeyword(text, ['never', keyword])).toBe(has ? keyword : null);
});

test.each(['\u0301', '\u0344', '\u064b', '\ufdfa', 'no. '])(
  'a message full of %j is searched in linear time: quadratic time would exceed the test timeout',
  (character) => {
    for (let texts = 0; texts < 20; texts += 1)
      expect(findPersonRequest(`a${character.repeat(Math.floor(9_999 / character.length))}`)).toBeNull();
  },
  10_000,
);
