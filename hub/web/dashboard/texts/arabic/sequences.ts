import type { sequences as english } from '../english/sequences.ts';

/** Texts of the sequences pages. */
export const sequences: typeof english = {
  missing: 'لا يوجد تسلسل بهذا المعرّف',
  empty: 'لا توجد تسلسلات بعد',
  emptyText: 'التسلسل قائمة خطوات قد تفصل بينها أيام، مثل التذكيرات. أنشئ واحدًا عبر واجهة البرمجة.',
  name: 'الاسم',
  steps: 'الخطوات',
  changed: 'آخر تغيير',
  run: 'تشغيل…',
  runTitle: 'تشغيل {name}',
  runText: 'تعمل الخطوات في البيئة المباشرة: تُرسَل رسائل البريد والرسائل إلى مستلمين حقيقيين.',
  payload: 'البيانات بصيغة JSON',
  payloadHint: 'تقرؤها الخطوات باسم payload، مثلًا {{payload.name}}.',
  payloadInvalid: 'هذا ليس JSON صالحًا. {reason}',
  payloadObject: 'يجب أن تكون البيانات كائن JSON، مثل { "name": "Ann" }.',
  wait: 'ينتظر أولًا {duration}',
  json: 'بصيغة JSON',
  workflow: 'عمليات تشغيل هذا التسلسل',
};
